/* used.c - what jobs hold of nodes and queues, summed up for listings */
#include "aischedd/state/cluster/used.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

/* The amounts that a job holds on each of its nodes. */
struct holding {
	int64_t task[RES_N]; /* for each of its tasks on the node */
	/* the job holds all CPUs or memory of the node, instead of task[] */
	bool all_cpus, all_memory;
	int64_t tmp;               /* disk of a task */
	struct device_counts devs; /* of a task */
};

static void ask_of(const struct conf *conf, const struct job *job,
                   struct holding *ret)
{
	bool suspended = job->state == JOB_SUSPENDED;
	struct request req;
	struct spec spec;

	spec_unpack(&spec, job->packed);
	spec_request(&spec, job->mem_default, &req);
	ret->task[RES_CPU] = suspended ? 0 : req.cpus_milli;
	ret->task[RES_MEM] = req.mem_mib;
	ret->tmp = req.tmp_mib;
	ret->devs = (struct device_counts){ { 0 } };
	if (spec.device)
		devices_parse(conf->device_names, conf->ndevices, spec.device,
		              &ret->devs, NULL);
	ret->task[RES_GPU] = req.gpus_milli;
	ret->all_cpus = spec.exclusive == 1 && !suspended;
	ret->all_memory = spec.mem_node == 0;
}

/* Subtract what the job's tasks in p hold from what is free on their nodes, and
 * count the job there. last[node]: the job that was counted last on the node,
 * so that a job with several tasks there is counted once. */
static void take(struct node_left *left, const struct job **last,
                 const struct job *job, const struct placement *p,
                 const struct holding *hold)
{
	for (uint32_t i = 0; p && i < p->ntasks; i++) {
		uint32_t n = p->task[i].node;

		for (int r = 0; r < RES_N; r++)
			left[n].free[r] -= hold->task[r];
		left[n].tmp_free -= hold->tmp;
		for (int k = 0; k < DEVICE_KINDS; k++)
			left[n].dev_free.n[k] -= hold->devs.n[k];
		if (hold->all_cpus)
			left[n].free[RES_CPU] = 0;
		if (hold->all_memory)
			left[n].free[RES_MEM] = 0;
		left[n].jobs += last[n] != job;
		last[n] = job;
	}
}

void state_nodes_left(const struct state *state, struct node_left *ret)
{
	const struct job **last = xcalloc(state->nodes.n + 1, sizeof(*last));

	for (size_t i = 0; i < state->nodes.n; i++) {
		const struct node *node = &state->nodes.node[i];
		ret[i] = (struct node_left){
			.free = { [RES_CPU] =
			              node->cpu_milli - node->cpu_others,
			          [RES_MEM] = node->mem_mib - node->mem_others,
			          [RES_GPU] = 1000 * (int64_t)node->ngpus -
			                      node->gpu_others },
			.tmp_free = node->tmp_mib - node->tmp_others,
			.dev_free = node_devs_free(node),
		};
	}
	/* Evicted tasks hold resources until they have ended. */
	for (const struct job *job = state->records.placed; job;
	     job = job->row_next) {
		struct holding hold;

		ask_of(state->conf, job, &hold);
		take(ret, last, job, job->place, &hold);
		take(ret, last, job, job->runs->leaving, &hold);
	}
	free(last);
}

static void add_used(const struct conf *conf, const struct job *job,
                     int64_t ret[RES_N])
{
	int64_t n = job->place->ntasks;
	struct holding hold;

	if (job->runs->leaving)
		n += job->runs->leaving->ntasks;
	ask_of(conf, job, &hold);
	for (int r = 0; r < RES_N; r++)
		ret[r] += n * hold.task[r];
}

void state_queues_used(const struct state *state, int64_t (*ret)[RES_N])
{
	const struct conf *conf = state->conf;

	memset(ret, 0, conf->nqueues * sizeof(*ret));
	for (const struct job *job = state->records.placed; job;
	     job = job->row_next) {
		int64_t used[RES_N] = { 0 };

		add_used(conf, job, used);
		for (int q = (int)job->queue; q >= 0;
		     q = conf->queues[q].parent)
			for (int r = 0; r < RES_N; r++)
				ret[q][r] += used[r];
	}
}

void state_queue_used(const struct state *state, uint32_t queue,
                      int64_t ret[RES_N])
{
	memset(ret, 0, RES_N * sizeof(*ret));
	for (const struct job *job = state->records.placed; job;
	     job = job->row_next)
		if (queue_is_below(state->conf, job->queue, queue))
			add_used(state->conf, job, ret);
}

const int64_t *state_queue_share(const struct state *state, uint32_t queue)
{
	return state->last_plan.share ? state->last_plan.share[queue] : NULL;
}
