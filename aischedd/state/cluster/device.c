/* device.c - which devices of its node a task gets, besides GPUs */
#include "aischedd/state/cluster/device.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/job.h"
#include "aischedd/state/pass/snap_job.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

void devices_free(struct node_devices *devices)
{
	for (uint32_t i = 0; devices && i < devices->n; i++)
		free(devices->name[i]);
	free(devices);
}

static uint32_t find(const struct node_devices *d, const char *name, size_t len)
{
	uint32_t i = 0;

	while (i < d->n && (strncmp(d->name[i], name, len) || d->name[i][len]))
		i++;
	return i;
}

uint64_t devices_intern(struct node *node, const char *name, size_t len)
{
	struct node_devices *d = node->named;
	uint32_t i;

	if (!d)
		d = node->named = xcalloc(1, sizeof(*d));
	i = find(d, name, len);
	if (i == LIMIT_DEVICES)
		return 0;
	if (i == d->n)
		d->name[d->n++] = xstrndup(name, len);
	return UINT64_C(1) << i;
}

/* --- devices that are held ------------------------------------------------ */

/* A task that may have devices. */
struct device_task {
	struct placement *place;
	uint32_t i;
};

/*
 * The tasks that may have devices, by node. Nodes report one after the other,
 * all of them after a restart, and of each the tasks are looked at: so these
 * are not sought among all jobs each time.
 */
struct device_tasks {
	uint64_t moves; /* state->placed.moves when it was made */
	uint32_t nnodes;
	uint32_t *first; /* [nnodes + 1] in `task` */
	struct device_task *task;
};

static void count_in(uint32_t *n, const struct placement *place)
{
	for (uint32_t i = 0; place && place->devs && i < place->ntasks; i++)
		n[place->task[i].node]++;
}

/* Enter the tasks, each before those of its node that are there already. */
static void enter(struct device_tasks *tasks, struct placement *place)
{
	for (uint32_t i = 0; place && place->devs && i < place->ntasks; i++)
		tasks->task[--tasks->first[place->task[i].node]] =
		    (struct device_task){ place, i };
}

static struct device_tasks *tasks_new(const struct state *state)
{
	struct device_tasks *tasks = xcalloc(1, sizeof(*tasks));
	uint32_t nnodes = tasks->nnodes = (uint32_t)state->nodes.n;
	uint32_t *first = xcalloc(nnodes + 1, sizeof(*first));

	tasks->moves = state->placed.moves;
	tasks->first = first;
	for (const struct job *job = state->records.placed; job;
	     job = job->row_next) {
		count_in(first, job->place);
		count_in(first, job->runs->leaving);
	}
	for (uint32_t n = 1; n <= nnodes; n++)
		first[n] += first[n - 1];
	tasks->task = xcalloc(first[nnodes] + 1, sizeof(*tasks->task));
	for (const struct job *job = state->records.placed; job;
	     job = job->row_next) {
		enter(tasks, job->place);
		enter(tasks, job->runs->leaving);
	}
	return tasks;
}

void device_tasks_free(struct device_tasks *tasks)
{
	if (!tasks)
		return;
	free(tasks->first);
	free(tasks->task);
	free(tasks);
}

static const struct device_tasks *tasks_now(struct state *state)
{
	struct node_table *nodes = &state->nodes;
	struct device_tasks *tasks = nodes->device_tasks;

	if (tasks && tasks->moves == state->placed.moves &&
	    tasks->nnodes == nodes->n)
		return tasks;
	device_tasks_free(tasks);
	nodes->device_searches++;
	return nodes->device_tasks = tasks_new(state);
}

/* Call fn for the devices of each task on the node. */
typedef void task_fn(uint64_t *devs, void *arg);

static void each_holder(struct state *state, uint32_t node, task_fn *fn,
                        void *arg)
{
	const struct device_tasks *tasks = tasks_now(state);

	for (uint32_t k = tasks->first[node]; k < tasks->first[node + 1]; k++)
		fn(&tasks->task[k].place->devs[tasks->task[k].i], arg);
}

static void add_held(uint64_t *devs, void *arg)
{
	*(uint64_t *)arg |= *devs;
}

/* Returns the devices that tasks hold, by node, on the heap. */
static uint64_t *all_held(struct state *state)
{
	uint64_t *held = xcalloc(state->nodes.n, sizeof(*held));

	for (uint32_t n = 0; n < state->nodes.n; n++)
		each_holder(state, n, add_held, &held[n]);
	return held;
}

void devices_begin(struct state *state)
{
	state->nodes.giving = true;
}

void devices_end(struct state *state)
{
	state->nodes.giving = false;
	free(state->nodes.held);
	state->nodes.held = NULL;
}

/* Replace each bit i by to[i]. */
static void renumber(uint64_t *devs, void *arg)
{
	const uint64_t *to = arg;
	uint64_t left = *devs;

	for (*devs = 0; left; left &= left - 1)
		*devs |= to[__builtin_ctzll(left)];
}

void devices_seen(struct state *state, uint32_t n, const struct node_info *info)
{
	struct node *node = &state->nodes.node[n];
	struct node_devices *old = node->named, *d;
	uint64_t held = 0, to[LIMIT_DEVICES] = { 0 };
	bool moved = false;

	node->named = NULL;
	for (uint32_t i = 0; i < info->ndevices && i < LIMIT_DEVICES; i++) {
		devices_intern(node, info->device[i].name,
		               strlen(info->device[i].name));
		node->named->kind[i] = info->device[i].kind;
		node->named->numa[i] = info->device[i].numa;
		node->named->root[i] = info->device[i].root;
	}
	d = node->named;
	if (d)
		d->nhere = d->n;
	if (!old)
		return;
	each_holder(state, n, add_held, &held);
	for (uint32_t i = 0; i < old->n; i++) {
		if (!(held >> i & 1))
			continue;
		to[i] =
		    devices_intern(node, old->name[i], strlen(old->name[i]));
		moved |= to[i] != UINT64_C(1) << i;
	}
	if (moved) {
		each_holder(state, n, renumber, to);
		run_frame_drop(&state->placed);
	}
	devices_free(old);
}

/* --- giving --------------------------------------------------------------- */

/* How far a device is from the GPUs of a task or, if it has none, its CPUs. */
enum distance {
	BESIDE, /* under the root of a GPU that has no device of the kind yet */
	UNDER,  /* under the root of one of its GPUs */
	NEAR,   /* in a NUMA node of the task */
	FAR
};

/* Where a task is on its node. */
struct spot {
	uint32_t nroots;
	uint16_t root[LIMIT_GPUS]; /* PCIe roots of its GPUs, if known */
	bool used[LIMIT_GPUS];     /* a device beside this GPU was chosen */
	uint64_t numas;            /* bit i: NUMA node i */
};

static void find_spot(struct spot *spot, const struct node *node,
                      const struct placement *place, uint32_t i)
{
	const struct snap_task *task = &place->task[i];

	*spot = (struct spot){ 0 };
	for (uint32_t g = 0; g < node->ngpus && g < LIMIT_GPUS; g++) {
		if (!(task->gpus >> g & 1))
			continue;
		spot->numas |= UINT64_C(1) << node_gpu_numa(node, g) % 64;
		if (node->gpu_root[g])
			spot->root[spot->nroots++] = node->gpu_root[g];
	}
	for (uint32_t c = task->cpu_first; !task->gpus && c < task[1].cpu_first;
	     c++)
		if (place->cpu_use[c].cpu < node->ncpus)
			spot->numas |=
			    UINT64_C(1)
			    << node->cpu_numa[place->cpu_use[c].cpu] % 64;
}

/* Returns the distance to device i. Sets ret_gpu to the GPU beside it. */
static enum distance distance_of(const struct spot *spot,
                                 const struct node_devices *d, uint32_t i,
                                 uint32_t *ret_gpu)
{
	enum distance ret = spot->numas >> d->numa[i] % 64 & 1 ? NEAR : FAR;

	for (uint32_t g = 0; g < spot->nroots; g++) {
		if (spot->root[g] != d->root[i])
			continue;
		*ret_gpu = g;
		ret = UNDER;
		if (!spot->used[g])
			return BESIDE;
	}
	return ret;
}

/* Returns n devices of a kind that are not in `held`: the nearest, and of equal
 * ones the first. */
static uint64_t choose(const struct node_devices *d, struct spot *spot,
                       size_t kind, int n, uint64_t held)
{
	uint64_t ret = 0;

	memset(spot->used, 0, sizeof(spot->used));
	for (; n > 0; n--) {
		enum distance least = FAR + 1;
		uint32_t best = 0, beside = 0;

		for (uint32_t i = 0; i < d->nhere; i++) {
			enum distance at;
			uint32_t gpu = 0;

			if (d->kind[i] != kind || (held | ret) >> i & 1)
				continue;
			at = distance_of(spot, d, i, &gpu);
			if (at >= least)
				continue;
			least = at;
			best = i;
			beside = gpu;
		}
		if (least > FAR)
			break;
		spot->used[beside] |= least == BESIDE;
		ret |= UINT64_C(1) << best;
	}
	return ret;
}

/* Choose the devices of all kinds for a task. d NULL: the node has none. */
static uint64_t choose_all(const struct node_devices *d, struct spot *spot,
                           const struct device_counts *need, uint64_t held)
{
	uint64_t ret = 0;

	for (size_t k = 0; d && k < DEVICE_KINDS; k++)
		ret |= choose(d, spot, k, need->n[k], held);
	return ret;
}

/* Returns the devices of a node that tasks have, the first n of place, too. */
static uint64_t held_on(struct state *state, uint32_t node,
                        const struct placement *place, uint32_t n)
{
	struct node_table *nodes = &state->nodes;
	uint64_t held = 0;

	if (nodes->giving && !nodes->held)
		nodes->held = all_held(state);
	if (nodes->held)
		held = nodes->held[node];
	else
		each_holder(state, node, add_held, &held);
	for (uint32_t i = 0; i < n; i++)
		if (place->task[i].node == node)
			held |= placement_devs(place, i);
	return held;
}

/* Whether a plan's choice is one that the task can have: as many of each kind
 * as it needs, all of them here and none of them held. */
static bool is_right(const struct node_devices *d, uint64_t devs,
                     const struct device_counts *need, uint64_t held)
{
	struct device_counts left = *need;

	if (devs & held)
		return false;
	for (; devs; devs &= devs - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(devs);

		if (i >= d->nhere)
			return false;
		left.n[d->kind[i]]--;
	}
	for (uint32_t i = 0; i < d->nhere; i++)
		if (left.n[d->kind[i]])
			return false;
	return true;
}

/* Whether the devices of a node of the placement are known by name. */
static bool is_named(const struct state *state, const struct placement *place)
{
	for (uint32_t i = 0; i < place->ntasks; i++)
		if (state->nodes.node[place->task[i].node].named)
			return true;
	return false;
}

struct placement *devices_give(struct state *state, const struct job *job,
                               struct placement *place)
{
	const struct conf *conf = state->conf;
	struct device_counts need = { { 0 } };
	uint64_t held = 0;
	struct placement *ret;
	struct spot spot;
	struct spec spec;

	spec_unpack(&spec, job->packed);
	if (spec.device)
		devices_parse(conf->device_names, conf->ndevices, spec.device,
		              &need, NULL);
	if (!devices_any(&need) || !is_named(state, place))
		return place;
	ret = placement_named(place);
	free(place);
	for (uint32_t i = 0; i < ret->ntasks; i++) {
		uint32_t node = ret->task[i].node;
		const struct node_devices *d = state->nodes.node[node].named;
		uint64_t all = 0;

		if (d && (!i || node != ret->task[i - 1].node))
			held = held_on(state, node, ret, i);
		if (d && is_right(d, ret->devs[i], &need, held))
			all = ret->devs[i];
		find_spot(&spot, &state->nodes.node[node], ret, i);
		ret->devs[i] = all ? all : choose_all(d, &spot, &need, held);
		held |= ret->devs[i];
		if (state->nodes.held)
			state->nodes.held[node] |= ret->devs[i];
	}
	return ret;
}
