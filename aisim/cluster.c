/* cluster.c - the nodes of the configuration, as a runner would report them */
#include "aisim/cluster.h"

#include <stdlib.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"

/* --- nodes ------------------------------------------------------------- */

/* Devices lie evenly in sockets and link groups, in their order. */
static uint8_t group_of(int64_t device, int64_t ngpus, int64_t groups)
{
	return groups > 0 ? (uint8_t)(device * groups / ngpus) : 0;
}

static void tell_node(struct state *state, const struct conf_node *conf,
                      bool down)
{
	uint32_t ngpus = conf->gpus > 0 ? (uint32_t)conf->gpus : 0;
	uint8_t numa[LIMIT_GPUS], link[LIMIT_GPUS];
	struct node_info info = {
		.name = conf->name,
		.cpu_milli = conf->cpus * 1000,
		.mem_mib = conf->memory > 0 ? conf->memory : 0,
		.ngpus = ngpus,
		.gpu_type = conf->gpu_type,
		.gpu_numa = numa,
		.gpu_link = link,
		.down = down,
		.reason = down ? "it went down" : NULL,
	};

	for (uint32_t i = 0; i < ngpus; i++) {
		numa[i] = group_of(i, ngpus, conf->sockets);
		link[i] = group_of(i, ngpus, conf->gpu_link_groups);
	}
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

/* --- what runs from the beginning -------------------------------------- */

struct room_node {
	int64_t cpu_milli, mem_mib;
	uint32_t ngpus;
	uint16_t gpu[LIMIT_GPUS]; /* milli left of each device */
};

struct room {
	const struct conf *conf;
	struct room_node *node;
};

struct room *room_new(struct state *state)
{
	struct room *room = xcalloc(1, sizeof(*room));
	size_t n = state_nnodes(state);

	room->conf = state_conf(state);
	room->node = xcalloc(n + 1, sizeof(*room->node));
	for (size_t i = 0; i < n; i++) {
		const struct node *node = state_node(state, (uint32_t)i);

		room->node[i] = (struct room_node){
			.cpu_milli = node->cpu_milli,
			.mem_mib = node->mem_mib,
			.ngpus = node->ngpus,
		};
		for (uint32_t g = 0; g < node->ngpus; g++)
			room->node[i].gpu[g] = 1000;
	}
	return room;
}

void room_free(struct room *room)
{
	if (!room)
		return;
	free(room->node);
	free(room);
}

/* A part of one device: the fullest that has room. */
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

static bool take_task(struct room_node *node, const struct request *req,
                      struct snap_task *ret)
{
	node->cpu_milli -= req->cpus_milli;
	node->mem_mib -= req->mem_mib;
	ret->gpu_milli =
	    (uint16_t)(req->gpus_milli < 1000 ? req->gpus_milli : 1000);
	if (node->cpu_milli < 0 || node->mem_mib < 0)
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

	for (uint32_t i = 0; i < ntasks; i++) {
		task[i].node = node[i];
		if (!take_task(&room->node[node[i]], req, &task[i])) {
			err_set(err, EBUSY,
			        "task %u does not fit on node '%s' beside what "
			        "runs there",
			        i, room->conf->nodes[node[i]].name);
			goto out;
		}
	}
	place = placement_new(ntasks, task, NULL);
out:
	free(task);
	return place;
}
