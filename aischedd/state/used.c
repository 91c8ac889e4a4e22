/* used.c - what jobs hold of nodes and queues, summed up for people */
#include <string.h>

#include "aischedd/state/state_priv.h"

/* Tasks on the node, or on all when it is negative. */
static int64_t count_on(const struct placement *p, int64_t node)
{
	int64_t n = 0;

	for (uint32_t i = 0; p && i < p->ntasks; i++)
		n += node < 0 || p->task[i].node == (uint32_t)node;
	return n;
}

/* What leaves is still there. */
static void add_used(const struct job *job, int64_t node, int64_t ret[RES_N],
                     int sign)
{
	struct request req;
	struct spec spec;
	int64_t n;

	n = sign * (count_on(job->place, node) + count_on(job->leaving, node));
	spec_unpack(&spec, job->packed);
	spec_request(&spec, job->mem_default, &req);
	if (job->state != JOB_SUSPENDED)
		ret[RES_CPU] += n * req.cpus_milli;
	ret[RES_MEM] += n * req.mem_mib;
	ret[RES_GPU] += n * req.gpus_milli;
}

void state_node_free(const struct state *state, uint32_t n, int64_t ret[RES_N],
                     uint32_t *ret_jobs)
{
	const struct node *node = &state->node[n];

	ret[RES_CPU] = node->cpu_milli - node->cpu_others;
	ret[RES_MEM] = node->mem_mib - node->mem_others;
	ret[RES_GPU] = ((int64_t)node->ngpus - node->gpus_others) * 1000;
	*ret_jobs = 0;
	for (const struct job *job = state->placed; job; job = job->row_next) {
		if (!count_on(job->place, n) && !count_on(job->leaving, n))
			continue;
		add_used(job, n, ret, -1);
		++*ret_jobs;
	}
}

void state_queues_used(const struct state *state, int64_t (*ret)[RES_N])
{
	const struct conf *conf = state->conf;

	memset(ret, 0, conf->nqueues * sizeof(*ret));
	for (const struct job *job = state->placed; job; job = job->row_next) {
		int64_t used[RES_N] = { 0 };

		add_used(job, -1, used, 1);
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
	for (const struct job *job = state->placed; job; job = job->row_next)
		if (queue_is_below(state->conf, job->queue, queue))
			add_used(job, -1, ret, 1);
}

const int64_t *state_queue_share(const struct state *state, uint32_t queue)
{
	return state->plan_share ? state->plan_share[queue] : NULL;
}
