/* cluster.c - report the configured nodes to the state, as runners would */
#include "aisim/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aisim/pieces.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

/* --- nodes ------------------------------------------------------------- */

/* Particular devices of a node, as a runner would report them. */
struct pieces {
	struct run_device device[LIMIT_DEVICES];
	char name[LIMIT_DEVICES][48];
	uint16_t gpu_root[LIMIT_GPUS];
};

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Returns the PCIe root of a GPU, as configured. */
static uint32_t gpu_root(const struct conf_node *conf, uint32_t gpu)
{
	return (uint32_t)strtoul(conf->gpu_roots.s[gpu], NULL, 10);
}

static uint32_t count_roots(const struct conf_node *conf)
{
	uint32_t n = 1;

	for (uint32_t g = 0; g < conf->gpu_roots.n; g++)
		n = larger(n, gpu_root(conf, g) + 1);
	for (uint32_t i = 0; i < conf->npieces; i++)
		n = larger(n, conf->pieces[i].root + 1u);
	return n;
}

static uint32_t count_numas(const struct node *node,
                            const struct conf_node *conf)
{
	uint32_t n = conf->sockets != CONF_NONE ? (uint32_t)conf->sockets : 1;

	for (uint32_t g = 0; g < node->ngpus; g++)
		n = larger(n, node_gpu_numa(node, g) + 1u);
	return n;
}

/* Returns the NUMA node of a PCIe root: that of its first GPU. Roots without
 * GPUs are divided evenly among the NUMA nodes, in order. */
static uint8_t numa_of_root(const struct node *node,
                            const struct conf_node *conf, uint32_t root)
{
	for (uint32_t g = 0; g < conf->gpu_roots.n && g < node->ngpus; g++) {
		if (gpu_root(conf, g) == root)
			return node_gpu_numa(node, g);
	}
	return (uint8_t)(root * count_numas(node, conf) / count_roots(conf));
}

static void list_pieces(const struct conf *all, const struct node *node,
                        const struct conf_node *conf, struct pieces *ret)
{
	uint32_t number[DEVICE_KINDS] = { 0 };

	for (uint32_t g = 0; g < conf->gpu_roots.n && g < LIMIT_GPUS; g++)
		ret->gpu_root[g] = (uint16_t)(gpu_root(conf, g) + 1);
	for (uint32_t i = 0; i < conf->npieces; i++) {
		uint8_t kind = conf->pieces[i].kind;

		snprintf(ret->name[i], sizeof(ret->name[i]), "%.32s:%u",
		         all->device_names[kind], (unsigned)number[kind]++);
		ret->device[i] = (struct run_device){
			.name = ret->name[i],
			.kind = kind,
			.numa = numa_of_root(node, conf, conf->pieces[i].root),
			.root = (uint16_t)(conf->pieces[i].root + 1),
		};
	}
}

/* GPUs that no task can have. */
struct lost {
	uint16_t held[LIMIT_GPUS];
	uint64_t parts[LIMIT_GPUS];
};

static void lose_gpus(struct node_info *info, const struct conf_node *conf,
                      uint64_t gpus, struct lost *lost)
{
	uint64_t all = UINT64_MAX / 255 * MIG_HELD;

	info->gpus_named = info->gpu_numas_known = info->gpus_shared = true;
	info->gpu_held = lost->held;
	if (conf->mig)
		info->gpu_parts = lost->parts;
	for (; gpus; gpus &= gpus - 1) {
		int g = __builtin_ctzll(gpus);

		if (conf->mig)
			lost->parts[g] = all;
		else
			lost->held[g] = 1000;
		info->used_gpu_milli += 1000;
	}
}

static void tell_node(struct state *state, const struct conf_node *conf,
                      bool down, uint64_t gpus)
{
	const struct conf *all = state_conf(state);
	struct pieces pieces = { 0 };
	struct lost lost = { 0 };
	struct node_info info = {
		.name = conf->name,
		.cpu_milli = conf->cpus * 1000,
		.mem_mib = conf->memory > 0 ? conf->memory : 0,
		.tmp_mib = conf->tmp > 0 ? conf->tmp : 0,
		.ngpus = conf->gpus > 0 ? (uint32_t)conf->gpus : 0,
		.gpu_type = conf->gpu_type,
		.down = down,
		.reason = down ? "it went down" : NULL,
	};

	if (gpus)
		lose_gpus(&info, conf, gpus, &lost);
	state_node_seen(state, (uint32_t)conf->pool, &info);
	if (!conf->npieces)
		return;
	/* NUMA nodes of GPUs are known only now. */
	list_pieces(all, state_node(state, (uint32_t)(conf - all->nodes)), conf,
	            &pieces);
	info.devs = conf->devs;
	info.device = pieces.device;
	info.ndevices = conf->npieces;
	info.gpu_root = pieces.gpu_root;
	for (uint32_t i = 0; i < conf->npieces; i++)
		info.kinds_named |= (uint8_t)(1u << conf->pieces[i].kind);
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
		tell_node(state, node, false, 0);
	}
	for (size_t i = 0; i < conf->npools; i++)
		state_pool_ready(state, (uint32_t)i, true);
	return 0;
}

void cluster_set_down(struct state *state, uint32_t node, bool down,
                      uint64_t gpus)
{
	tell_node(state, &state_conf(state)->nodes[node], down, gpus);
}

int64_t cluster_gpus(struct state *state)
{
	int64_t n = 0;

	for (size_t i = 0; i < state_nnodes(state); i++) {
		const struct node *node = state_node(state, (uint32_t)i);

		n += node->down || node->gone ? 0 : node->ngpus;
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

/* --- jobs that are running at second 0 ------------------------------------ */

struct room_node {
	int64_t cpu_milli, mem_mib, tmp_mib;
	struct device_counts devs;
	uint64_t pieces; /* bit i: particular device i is taken */
	uint32_t ngpus, ncpus;
	uint16_t gpu[LIMIT_GPUS]; /* what is left of each GPU, in thousandths */
	/* Units of each GPU that are in partitions. */
	uint8_t slices[LIMIT_GPUS];
	uint16_t *cpu; /* what is left of each CPU, in thousandths, if CPUs are
	                  bound */
	const struct node *node;
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
			.tmp_mib = node->tmp_mib,
			.devs = node->devs,
			.ngpus = node->ngpus,
			.ncpus = node->ncpus,
			.node = node,
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

static uint64_t parts_of(const struct room_node *node, uint32_t gpu)
{
	return node_gpu_parts(node->node, gpu);
}

/* Take a part of a GPU of a set, from the GPU that has the least left among
 * those that have enough. */
static bool take_part(struct room_node *node, uint64_t set, uint16_t milli,
                      uint64_t *ret)
{
	uint32_t best = node->ngpus;

	for (uint32_t i = 0; i < node->ngpus; i++)
		if (set >> i & 1 && node->gpu[i] >= milli && !node->slices[i] &&
		    !parts_of(node, i) &&
		    (best == node->ngpus || node->gpu[i] < node->gpu[best]))
			best = i;
	if (best == node->ngpus)
		return false;
	node->gpu[best] = (uint16_t)(node->gpu[best] - milli);
	*ret = (uint64_t)1 << best;
	return true;
}

/* Add the first n idle GPUs of a set to *ret. Returns how many it lacks. */
static int64_t take_idle(struct room_node *node, uint64_t set, int64_t n,
                         uint64_t *ret)
{
	for (uint32_t i = 0; i < node->ngpus && n > 0; i++) {
		if (node->gpu[i] < 1000 || parts_of(node, i) || !(set >> i & 1))
			continue;
		node->gpu[i] = 0;
		*ret |= (uint64_t)1 << i;
		n--;
	}
	return n;
}

/* Take n whole GPUs: first one for each device that the task needs beside a
 * GPU, with that device under its root, then any. */
static bool take_whole(struct room_node *node, const struct device_need *need,
                       int64_t n, uint64_t *ret)
{
	uint64_t taken = node->pieces;
	int64_t beside = 0; /* GPUs that need devices under their roots */

	*ret = 0;
	for (uint32_t k = 0; k < DEVICE_KINDS; k++)
		if (need->pcie >> k & 1 && need->counts.n[k] > beside)
			beside = need->counts.n[k];
	beside = beside < n ? beside : n;
	n -= beside;
	for (; beside; beside--) {
		uint64_t set = pieces_gpus(node->node, need, taken);
		uint64_t one = 0;

		if (take_idle(node, set, 1, &one))
			return false;
		*ret |= one;
		taken |= pieces_beside(node->node, need, one, taken);
	}
	return take_idle(node, UINT64_MAX, n, ret) == 0;
}

/* The CPUs chosen so far for the tasks of a job. */
struct cpu_list {
	struct snap_cpu_use *use;
	size_t n, cap;
};

/* Take a CPU or a part of one in these NUMA nodes, from the CPU that has the
 * least left among those that have enough. For a whole CPU this is the first
 * idle one. */
static bool take_cpu(struct room_node *node, uint32_t numas, uint16_t milli,
                     struct cpu_list *list)
{
	uint32_t best = node->ncpus;

	for (uint32_t i = 0; i < node->ncpus; i++)
		if (numas >> node->node->cpu_numa[i] & 1 &&
		    node->cpu[i] >= milli &&
		    (best == node->ncpus || node->cpu[i] < node->cpu[best]))
			best = i;
	if (best == node->ncpus)
		return false;
	node->cpu[best] = (uint16_t)(node->cpu[best] - milli);
	list->use = GROW(list->use, list->n, &list->cap);
	list->use[list->n++] = (struct snap_cpu_use){ (uint16_t)best, milli };
	return true;
}

static bool take_cpus(struct room_node *node, uint32_t numas, int64_t milli,
                      struct cpu_list *list)
{
	bool taken = true;

	if (!node->ncpus)
		return true;
	for (; taken && milli >= 1000; milli -= 1000)
		taken = take_cpu(node, numas, 1000, list);
	return taken &&
	       (!milli || take_cpu(node, numas, (uint16_t)milli, list));
}

/* Take (parts of) the given GPUs. */
static bool take_given(struct room_node *node, uint16_t milli, uint64_t gpus)
{
	for (uint64_t left = gpus; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);

		if (i >= node->ngpus || node->gpu[i] < milli ||
		    node->slices[i] || parts_of(node, i))
			return false;
		node->gpu[i] = (uint16_t)(node->gpu[i] - milli);
	}
	return true;
}

/* Returns where a partition may start on a GPU, free or not. */
static uint8_t starts_on(const struct room_node *node, uint32_t gpu,
                         uint8_t profile)
{
	uint64_t parts = parts_of(node, gpu);

	if (parts)
		return mig_parts_starts(parts, profile);
	return mig_has(node_mig(node->node), profile)
	           ? mig_profile[profile].starts
	           : 0;
}

/* Take units of a GPU for a partition. Fails if the GPU is also used without
 * partitions. */
static bool take_units(struct room_node *node, uint32_t gpu, uint8_t profile,
                       uint8_t units)
{
	int64_t all = mig_profile[profile].all;
	int64_t used = __builtin_popcount(node->slices[gpu]);

	if (node->gpu[gpu] != 1000 - 1000 * used / all ||
	    node->slices[gpu] & units ||
	    !(starts_on(node, gpu, profile) & units & -units))
		return false;
	node->slices[gpu] |= units;
	node->gpu[gpu] = (uint16_t)(node->gpu[gpu] - mig_milli(profile));
	return true;
}

/* Take the given partition or, if none is given, the first that is free. */
static bool take_partition(struct room_node *node, uint8_t profile,
                           struct snap_task *ret)
{
	if (ret->gpus)
		return (uint32_t)__builtin_ctzll(ret->gpus) < node->ngpus &&
		       take_units(node, (uint32_t)__builtin_ctzll(ret->gpus),
		                  profile, ret->units);
	for (uint32_t i = 0; i < node->ngpus; i++) {
		uint8_t starts = mig_free_starts(profile, node->slices[i]) &
		                 starts_on(node, i, profile);

		ret->gpus = (uint64_t)1 << i;
		ret->units =
		    mig_mask(profile, (uint32_t)__builtin_ctz(starts | 128u));
		if (starts && take_units(node, i, profile, ret->units))
			return true;
	}
	return false;
}

/* Returns the GPUs that a task gets on the node, in thousandths. */
static int64_t gpus_on(const struct room_node *node, const struct request *req)
{
	return req->gpu_mem_mib && req->gpus_milli < 1000
	           ? gpu_part(req->gpu_mem_mib, node_gpu_mem(node->node))
	           : req->gpus_milli;
}

static bool take_gpus(struct room_node *node, const struct room_ask *ask,
                      const struct device_need *need, struct snap_task *ret)
{
	int64_t gpus = ask->req->gpus_milli;
	uint8_t profile = mig_find(ask->gpu_type);

	if (profile)
		return take_partition(node, profile, ret);
	if (ask->dev)
		return take_given(node, ret->gpu_milli, ret->gpus);
	if (gpus > 0 && gpus < 1000)
		return take_part(
		    node,
		    need->pcie ? pieces_gpus(node->node, need, node->pieces)
			       : UINT64_MAX,
		    ret->gpu_milli, &ret->gpus);
	return take_whole(node, need, gpus / 1000, &ret->gpus);
}

/* Returns the NUMA nodes in which a task's CPUs must be, as bits. */
static uint32_t numas_of(const struct room_node *node,
                         const struct room_ask *ask,
                         const struct snap_task *task)
{
	uint32_t numas = 0;

	if (ask->numa != NUMA_STRICT && ask->numa != NUMA_TIGHT)
		return UINT32_MAX;
	for (uint64_t left = task->gpus; left; left &= left - 1)
		numas |= (uint32_t)1 << node_gpu_numa(
			     node->node, (uint32_t)__builtin_ctzll(left));
	return numas ? numas : UINT32_MAX;
}

/* Take devices other than GPUs. Returns false if there are too few. */
static bool take_devs(struct room_node *node, const struct device_counts *devs)
{
	bool taken = true;

	for (int i = 0; i < DEVICE_KINDS; i++) {
		node->devs.n[i] -= devs->n[i];
		taken &= !devs->n[i] || node->devs.n[i] >= 0;
	}
	return taken;
}

static bool take_task(struct room_node *node, const struct room_ask *ask,
                      const struct device_need *need, struct snap_task *ret,
                      uint64_t *ret_devs, struct cpu_list *list)
{
	const struct request *req = ask->req;
	int64_t gpus = gpus_on(node, req);
	uint32_t numas;

	if (req->gpu_mem_mib > node_gpu_mem(node->node))
		return false;
	node->cpu_milli -= req->cpus_milli;
	node->mem_mib -= req->mem_mib;
	node->tmp_mib -= req->tmp_mib;
	ret->gpu_milli = (uint16_t)(gpus < 1000 ? gpus : 1000);
	ret->cpu_first = (uint32_t)list->n;
	if (node->cpu_milli < 0 || node->mem_mib < 0 ||
	    (req->tmp_mib && node->tmp_mib < 0) ||
	    !take_devs(node, &need->counts) ||
	    !take_gpus(node, ask, need, ret) ||
	    !pieces_take(node->node, need, ret->gpus, node->pieces, ret_devs))
		return false;
	node->pieces |= *ret_devs;
	numas = numas_of(node, ask, ret);
	return take_cpus(node, numas, req->cpus_milli, list);
}

/* Check that a task may have the given GPUs: they must be as many as it
 * requests, of its type, and in one NUMA node if it requires that. */
static int check_given(const struct room_node *node, const struct room_ask *ask,
                       uint32_t i, struct err *err)
{
	int64_t gpus = ask->req->gpus_milli;
	struct snap_task task = { .gpus = ask->dev[i].gpus };
	uint8_t profile = mig_find(ask->gpu_type);
	uint32_t numas = numas_of(node, ask, &task);

	if (ask->dev[i].profile != profile)
		return err_set(err, EINVAL,
		               "dev: task %u has partition %s, but asks for %s",
		               i, mig_profile_name[ask->dev[i].profile],
		               mig_profile_name[profile]);
	if (__builtin_popcountll(task.gpus) != (gpus + 999) / 1000)
		return err_set(
		    err, EINVAL, "dev: task %u has %d GPUs, but asks for %g", i,
		    __builtin_popcountll(task.gpus), (double)gpus / 1000);
	if (task.gpus && ask->gpu_type && !profile &&
	    (!node->node->gpu_type ||
	     strcmp(ask->gpu_type, node->node->gpu_type) != 0))
		return err_set(err, EINVAL,
		               "dev: GPUs of '%s' are not of type %s",
		               node->node->name, ask->gpu_type);
	if (ask->numa == NUMA_STRICT && numas != UINT32_MAX &&
	    numas & (numas - 1))
		return err_set(err, EINVAL,
		               "dev: task %u is in several NUMA nodes", i);
	return 0;
}

struct placement *room_take(struct room *room, const struct room_ask *ask,
                            struct err *err)
{
	uint32_t ntasks = ask->ntasks;
	struct snap_task *task = xcalloc(ntasks + 1, sizeof(*task));
	uint64_t *devs = xcalloc(ntasks + 1, sizeof(*devs));
	struct placement *place = NULL;
	struct device_need need = { { { 0 } }, 0, 0 };
	struct cpu_list list = { 0 };

	if (ask->device &&
	    devices_parse_need(room->conf->device_names, room->conf->ndevices,
	                       ask->device, &need, err) < 0)
		goto out;
	for (uint32_t i = 0; i < ntasks; i++) {
		struct room_node *node = &room->node[ask->node[i]];

		task[i].node = ask->node[i];
		task[i].gpus = ask->dev ? ask->dev[i].gpus : 0;
		task[i].units = ask->dev ? ask->dev[i].units : 0;
		if (ask->dev && check_given(node, ask, i, err) < 0)
			goto out;
		if (!take_task(node, ask, &need, &task[i], &devs[i], &list)) {
			err_set(err, EBUSY,
			        "task %u does not fit on node '%s' beside what "
			        "runs there",
			        i, room->conf->nodes[ask->node[i]].name);
			goto out;
		}
	}
	task[ntasks].cpu_first = (uint32_t)list.n;
	place = placement_new(ntasks, task, list.use, devs);
out:
	free(devs);
	free(list.use);
	free(task);
	return place;
}
