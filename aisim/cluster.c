/* cluster.c - the nodes of the configuration, as a runner would report them */
#include "aisim/cluster.h"

#include <stdlib.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

/* --- nodes ------------------------------------------------------------- */

static void tell_node(struct state *state, const struct conf_node *conf,
                      bool down)
{
	struct node_info info = {
		.name = conf->name,
		.cpu_milli = conf->cpus * 1000,
		.mem_mib = conf->memory > 0 ? conf->memory : 0,
		.ngpus = conf->gpus > 0 ? (uint32_t)conf->gpus : 0,
		.gpu_type = conf->gpu_type,
		.down = down,
		.reason = down ? "it went down" : NULL,
	};

	state_node_seen(state, (uint32_t)conf->pool, &info);
}

int cluster_begin(struct state *state, struct err *err)
{
	const struct conf *conf = state_conf(state);

	for (size_t i = 0; i < conf->nnodes; i++) {
		const struct conf_node *node = &conf->nodes[i];

		if (node->cpus == CONF_NONE)
			return err_set(err, EINVAL,
			               "%s:%d: node '%s' needs cpus: a "
			               "simulation has no runner to ask",
			               conf->path ? conf->path : "", node->line,
			               node->name);
		tell_node(state, node, false);
	}
	for (size_t i = 0; i < conf->npools; i++)
		state_pool_ready(state, (uint32_t)i, true);
	return 0;
}

void cluster_set_down(struct state *state, uint32_t node, bool down)
{
	tell_node(state, &state_conf(state)->nodes[node], down);
}

int64_t cluster_gpus(struct state *state)
{
	int64_t n = 0;

	for (size_t i = 0; i < state_nnodes(state); i++) {
		const struct node *node = state_node(state, (uint32_t)i);

		n += node->down ? 0 : node->ngpus;
	}
	return n;
}

int64_t cluster_cpus(const struct state *state)
{
	int64_t n = 0;

	for (size_t i = 0; i < state_conf(state)->nnodes; i++)
		n += state_conf(state)->nodes[i].cpus * 1000;
	return n;
}

/* --- jobs that run from the beginning ---------------------------------- */

struct room_node {
	int64_t cpu_milli, mem_mib;
	uint32_t ngpus, ncpus;
	uint16_t gpu[LIMIT_GPUS]; /* thousandths left, by device */
	uint16_t *cpu; /* thousandths left, by CPU that can be bound */
};

struct room {
	const struct conf *conf;
	struct room_node *node;
	size_t nnodes;
};

struct room *room_new(struct state *state)
{
	struct room *room = xcalloc(1, sizeof(*room));
	size_t n = state_nnodes(state);

	room->conf = state_conf(state);
	room->nnodes = n;
	room->node = xcalloc(n + 1, sizeof(*room->node));
	for (size_t i = 0; i < n; i++) {
		const struct node *node = state_node(state, (uint32_t)i);

		room->node[i] = (struct room_node){
			.cpu_milli = node->cpu_milli,
			.mem_mib = node->mem_mib,
			.ngpus = node->ngpus,
			.ncpus = node->ncpus,
			.cpu = xcalloc(node->ncpus + 1, sizeof(uint16_t)),
		};
		for (uint32_t g = 0; g < node->ngpus; g++)
			room->node[i].gpu[g] = 1000;
		for (uint32_t c = 0; c < node->ncpus; c++)
			room->node[i].cpu[c] = node->cpu_reserved[c] ? 0 : 1000;
	}
	return room;
}

void room_free(struct room *room)
{
	if (!room)
		return;
	for (size_t i = 0; i < room->nnodes; i++)
		free(room->node[i].cpu);
	free(room->node);
	free(room);
}

/* Take a part of the fullest device that has enough left. */
static bool take_part(struct room_node *node, uint16_t milli, uint64_t *ret)
{
	uint32_t best = node->ngpus;

	for (uint32_t i = 0; i < node->ngpus; i++)
		if (node->gpu[i] >= milli &&
		    (best == node->ngpus || node->gpu[i] < node->gpu[best]))
			best = i;
	if (best == node->ngpus)
		return false;
	node->gpu[best] = (uint16_t)(node->gpu[best] - milli);
	*ret = (uint64_t)1 << best;
	return true;
}

static bool take_whole(struct room_node *node, int64_t n, uint64_t *ret)
{
	*ret = 0;
	for (uint32_t i = 0; i < node->ngpus && n > 0; i++) {
		if (node->gpu[i] < 1000)
			continue;
		node->gpu[i] = 0;
		*ret |= (uint64_t)1 << i;
		n--;
	}
	return n == 0;
}

/* The CPUs chosen so far for the tasks of a job. */
struct cpu_list {
	struct snap_cpu_use *use;
	size_t n, cap;
};

/* Take the fullest CPU with enough left; for a whole one, the first idle
 * one. */
static bool take_cpu(struct room_node *node, uint16_t milli,
                     struct cpu_list *list)
{
	uint32_t best = node->ncpus;

	for (uint32_t i = 0; i < node->ncpus; i++)
		if (node->cpu[i] >= milli &&
		    (best == node->ncpus || node->cpu[i] < node->cpu[best]))
			best = i;
	if (best == node->ncpus)
		return false;
	node->cpu[best] = (uint16_t)(node->cpu[best] - milli);
	list->use = GROW(list->use, list->n, &list->cap);
	list->use[list->n++] = (struct snap_cpu_use){ (uint16_t)best, milli };
	return true;
}

static bool take_cpus(struct room_node *node, int64_t milli,
                      struct cpu_list *list)
{
	bool taken = true;

	if (!node->ncpus)
		return true;
	for (; taken && milli >= 1000; milli -= 1000)
		taken = take_cpu(node, 1000, list);
	return taken && (!milli || take_cpu(node, (uint16_t)milli, list));
}

static bool take_task(struct room_node *node, const struct request *req,
                      struct snap_task *ret, struct cpu_list *list)
{
	node->cpu_milli -= req->cpus_milli;
	node->mem_mib -= req->mem_mib;
	ret->gpu_milli =
	    (uint16_t)(req->gpus_milli < 1000 ? req->gpus_milli : 1000);
	ret->cpu_first = (uint32_t)list->n;
	if (node->cpu_milli < 0 || node->mem_mib < 0 ||
	    !take_cpus(node, req->cpus_milli, list))
		return false;
	if (req->gpus_milli > 0 && req->gpus_milli < 1000)
		return take_part(node, ret->gpu_milli, &ret->gpus);
	return take_whole(node, req->gpus_milli / 1000, &ret->gpus);
}

struct placement *room_take(struct room *room, const struct request *req,
                            const uint32_t *node, uint32_t ntasks,
                            struct err *err)
{
	struct snap_task *task = xcalloc(ntasks + 1, sizeof(*task));
	struct placement *place = NULL;
	struct cpu_list list = { 0 };

	for (uint32_t i = 0; i < ntasks; i++) {
		task[i].node = node[i];
		if (!take_task(&room->node[node[i]], req, &task[i], &list)) {
			err_set(err, EBUSY,
			        "task %u does not fit on node '%s' beside what "
			        "runs there",
			        i, room->conf->nodes[node[i]].name);
			goto out;
		}
	}
	task[ntasks].cpu_first = (uint32_t)list.n;
	place = placement_new(ntasks, task, list.use);
out:
	free(list.use);
	free(task);
	return place;
}
