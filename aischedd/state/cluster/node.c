/* node.c - nodes: reported by their runners, configured, drained */
#include "aischedd/state/cluster/node.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/scale.h"
#include "aischedd/state/pass/kubelet.h"
#include "aischedd/state/pass/placed.h"
#include "aischedd/state/pass/snap_node.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

size_t state_nnodes(const struct state *state)
{
	return state->nodes.n;
}

uint64_t state_nodes_made(const struct state *state)
{
	return state->nodes.made;
}

size_t state_nodes_there(const struct state *state)
{
	size_t n = 0;

	for (size_t i = 0; i < state->nodes.n; i++)
		n += !state->nodes.node[i].removed;
	return n;
}

struct node *state_node(const struct state *state, uint32_t node)
{
	return &state->nodes.node[node];
}

static uint64_t name_key(const char *name)
{
	return hash_bytes(0, name, strlen(name));
}

/* Returns the part NAME of a text "NAME" or "POOL/NAME". */
static const char *name_in(const char *text)
{
	const char *slash = strchr(text, '/');

	return slash ? slash + 1 : text;
}

/* Returns the index of the pool in a text "POOL/NAME"; -1 if the text has no
 * pool, or one that does not exist. */
static int pool_in(const struct state *state, const char *text)
{
	size_t len = (size_t)(name_in(text) - text);

	for (size_t i = 0; len && i < state->conf->npools; i++) {
		const char *name = state->conf->pools[i].name;

		if (strlen(name) == len - 1 && !memcmp(name, text, len - 1))
			return (int)i;
	}
	return -1;
}

static bool is_meant(const struct node *node, const char *text)
{
	return !strcmp(name_in(text) == text ? node->name : node->full, text);
}

/* Search a list of nodes with the same name for a node that the text names.
 * Returns the index of that node, or -1. next: index plus one of the node at
 * which the search begins; 0: the list is empty. */
static int from(const struct state *state, uintptr_t next, const char *text)
{
	while (next && !is_meant(&state->nodes.node[next - 1], text))
		next = state->nodes.node[next - 1].namesake;
	return (int)next - 1;
}

int state_node_find(const struct state *state, const char *text)
{
	return from(
	    state,
	    (uintptr_t)map_find(&state->nodes.by_name, name_key(name_in(text))),
	    text);
}

int state_node_next(const struct state *state, const char *text, int after)
{
	return from(state, state->nodes.node[after].namesake, text);
}

int state_node_of(const struct state *state, uint32_t pool, const char *name)
{
	int node = state_node_find(state, name);

	while (node >= 0 && state->nodes.node[node].pool != pool)
		node = state_node_next(state, name, node);
	return node;
}

const char *state_node_label(const struct state *state, uint32_t n)
{
	const struct node *node = &state->nodes.node[n];
	int other = -1;

	if (state->nodes.namesakes)
		other = state_node_find(state, node->name);
	while (other == (int)n || (other >= 0 && state->nodes.node[other].gone))
		other = state_node_next(state, node->name, other);
	return other >= 0 ? node->full : node->name;
}

static void link_name(struct node_table *t, uint32_t n)
{
	uint64_t key = name_key(t->node[n].name);

	t->node[n].namesake = (uint32_t)(uintptr_t)map_find(&t->by_name, key);
	t->namesakes |= t->node[n].namesake != 0;
	map_set(&t->by_name, key, (void *)(uintptr_t)(n + 1));
}

static void name_it(struct state *state, struct node *node, const char *name)
{
	char *full =
	    xasprintf("%s/%s", state->conf->pools[node->pool].name, name);

	free(node->full);
	node->full = full;
	node->name = name_in(full);
}

static uint32_t add(struct state *state, const char *name, uint32_t pool)
{
	struct node_table *t = &state->nodes;
	uint32_t n;

	node_frame_drop(t);
	if (t->nspare) {
		n = t->spare[--t->nspare];
		free(t->node[n].full);
	} else {
		t->node = GROW(t->node, t->n, &t->cap);
		n = (uint32_t)t->n++;
	}
	t->node[n] = (struct node){ .pool = pool,
		                    .serial = t->made++,
		                    .gone = true,
		                    .idle_since = NO_TIME };
	name_it(state, &t->node[n], name);
	link_name(t, n);
	return n;
}

uint32_t node_intern(struct state *state, const char *text)
{
	const char *name = name_in(text);
	int pool = pool_in(state, text);
	int node = pool < 0 ? state_node_find(state, name)
	                    : state_node_of(state, (uint32_t)pool, name);
	uint32_t n;

	if (node >= 0)
		return (uint32_t)node;
	n = add(state, name, pool < 0 ? 0 : (uint32_t)pool);
	state->nodes.node[n].expected = pool < 0;
	return n;
}

int state_node_expect(struct state *state, const char *text)
{
	int node = state_node_find(state, text), pool = pool_in(state, text);

	if (node >= 0)
		return node;
	if (name_in(text) != text) {
		if (pool < 0 || state->pools.pool[pool].ready)
			return -1;
		return (int)add(state, name_in(text), (uint32_t)pool);
	}
	pool = state_pool_unready(state);
	if (pool < 0)
		return -1;
	node = (int)add(state, text, (uint32_t)pool);
	state->nodes.node[node].expected = true;
	return node;
}

/* Returns the index of the node that the runner of this pool reports. If no
 * node of this pool has the name, takes an `expected` node of this name, or
 * else adds a node. */
static uint32_t seen(struct state *state, uint32_t pool, const char *name)
{
	int n = state_node_of(state, pool, name);
	struct node *node;

	for (int other = n < 0 ? state_node_find(state, name) : -1; other >= 0;
	     other = state_node_next(state, name, other))
		if (state->nodes.node[other].expected)
			n = other;
	if (n < 0)
		return add(state, name, pool);
	node = &state->nodes.node[n];
	if (!node->expected)
		return (uint32_t)n;
	node->expected = false;
	node->pool = pool;
	name_it(state, node, name);
	if (node->drained)
		node_tell_drain(state, (uint32_t)n);
	return (uint32_t)n;
}

void nodes_reconf(struct state *state, const struct conf *conf)
{
	struct node_table *t = &state->nodes;

	node_frame_drop(t);
	map_free(&t->by_name);
	t->namesakes = false;
	for (uint32_t i = 0; i < t->n; i++) {
		struct node *node = &t->node[i];
		int pool =
		    conf_pool_find(conf, state->conf->pools[node->pool].name);

		node->removed |= pool < 0;
		node->pool = pool < 0 ? 0 : (uint32_t)pool;
		if (!node->removed)
			link_name(t, i);
	}
}

void nodes_drop_expected(struct state *state)
{
	for (uint32_t i = 0; i < state->nodes.n; i++) {
		struct node *node = &state->nodes.node[i];

		node->removed |= node->expected && !node->drained;
	}
	nodes_reconf(state, state->conf);
}

static void *copy(const void *from, size_t n, size_t size)
{
	void *to = xcalloc(n ? n : 1, size);

	if (n && from)
		memcpy(to, from, n * size);
	return to;
}

static void free_words(struct strlist *list)
{
	for (size_t i = 0; i < list->n; i++)
		free((char *)list->s[i]);
	free((void *)list->s);
	*list = (struct strlist){ 0 };
}

static void set_words(struct strlist *list, const struct strlist *to)
{
	const char **s = xcalloc(to->n + 1, sizeof(*s));

	for (size_t i = 0; i < to->n; i++)
		s[i] = xstrdup(to->s[i]);
	free_words(list);
	*list = (struct strlist){ to->n, s };
}

/* Reserve the last CPUs of the node for the system. The first ones serve more
 * interrupts, but users prefer that the CPUs of jobs begin at 0. */
static void reserve_cpus(struct node *node, int64_t milli)
{
	int64_t whole = (milli + 999) / 1000;

	for (uint32_t i = node->ncpus; i-- && whole-- > 0;)
		node->cpu_reserved[i] = true;
	node->cpu_milli -= milli;
	if (node->ncpus)
		node->cpu_milli -= node->cpu_milli % 1000;
}

/* Divide the devices evenly among the groups, in order. Returns the group of
 * this device. */
static uint8_t group_of(int64_t device, int64_t ndevices, int64_t groups)
{
	return (uint8_t)(device * groups / ndevices);
}

/* Returns the number of a device in a list that has one for each device. */
static uint8_t number_of(const struct strlist *list, uint32_t device)
{
	return (uint8_t)strtoul(list->s[device], NULL, 10);
}

uint8_t node_gpu_numa(const struct node *node, uint32_t gpu)
{
	if (node->conf && gpu < node->conf->gpu_numa.n)
		return number_of(&node->conf->gpu_numa, gpu);
	return node->conf && node->conf->sockets != CONF_NONE
	           ? group_of(gpu, node->ngpus, node->conf->sockets)
	           : node->gpu_numa[gpu] % LIMIT_SOCKETS;
}

uint32_t node_nnumas(const struct node *node)
{
	uint32_t n = node->nnumas ? node->nnumas : 1;

	for (uint32_t i = 0; i < node->ngpus; i++)
		if (node_gpu_numa(node, i) >= n)
			n = node_gpu_numa(node, i) + 1u;
	for (uint32_t i = 0; i < node->ncpus; i++)
		if (node->cpu_numa[i] >= n)
			n = node->cpu_numa[i] + 1u;
	return n;
}

uint8_t node_gpu_link(const struct node *node, uint32_t gpu)
{
	if (node->conf && gpu < node->conf->gpu_links.n)
		return number_of(&node->conf->gpu_links, gpu);
	return node->conf && node->conf->gpu_link_groups != CONF_NONE
	           ? group_of(gpu, node->ngpus, node->conf->gpu_link_groups)
	           : node->gpu_link[gpu];
}

int64_t node_weight(const struct node *node)
{
	return node->conf ? node->conf->weight : 1;
}

int64_t node_gpu_mem(const struct node *node)
{
	const struct conf_node *conf = node->conf;

	return conf && conf->gpu_memory != CONF_NONE ? conf->gpu_memory
	                                             : node->gpu_mem_mib;
}

uint8_t node_mig(const struct node *node)
{
	return node->conf && node->conf->mig ? mig_find_model(node->conf->mig)
	                                     : node->mig;
}

uint64_t node_gpu_parts(const struct node *node, uint32_t gpu)
{
	if (node->conf && node->conf->parts)
		return node->conf->parts[gpu];
	return node->gpu_parts ? node->gpu_parts[gpu] : 0;
}

/* Returns how many NUMA nodes a node has according to its section of the
 * configuration; 0 if that does not say. */
static int64_t count_numas(const struct conf_node *conf)
{
	int64_t n = 0;

	if (!conf)
		return 0;
	if (conf->sockets != CONF_NONE)
		return conf->sockets;
	for (size_t i = 0; i < conf->gpu_numa.n; i++)
		if (strtol(conf->gpu_numa.s[i], NULL, 10) >= n)
			n = strtol(conf->gpu_numa.s[i], NULL, 10) + 1;
	return (int64_t)conf->numa_memory.n > n ? (int64_t)conf->numa_memory.n
	                                        : n;
}

/* Returns the memory of NUMA node i of n: as configured, or as found by the
 * runner, or else an even part of the node's memory. */
static int64_t numa_size(const struct node *node, uint32_t i, uint32_t n)
{
	int64_t all = node->mem_mib, mib;

	if (node->conf && i < node->conf->numa_memory.n &&
	    parse_mib(node->conf->numa_memory.s[i], 'M', &mib, NULL) == 0)
		return mib;
	if (node->nnumas_found == n)
		return node->numa_found[i];
	return all * (i + 1) / n - all * i / n;
}

/* Divide the memory that jobs may use among the NUMA nodes. The memory reserved
 * for the system is taken from all of them evenly. */
static void deal_memory(const struct state *state, struct node *node)
{
	const struct conf_pool *pool = &state->conf->pools[node->pool];
	int64_t n = count_numas(node->conf), sum = 0;

	free(node->numa_mem);
	node->numa_mem = NULL;
	node->nnumas = 0;
	n = n ? n : node->nnumas_found;
	if (n <= 1 || n > LIMIT_SOCKETS ||
	    (!runner_traits(pool->runner)->binds && n != node->nnumas_found))
		return;
	node->nnumas = (uint32_t)n;
	node->numa_mem = xcalloc((size_t)n, sizeof(*node->numa_mem));
	for (uint32_t i = 0; i < node->nnumas; i++)
		sum += node->numa_mem[i] = numa_size(node, i, node->nnumas);
	sum -= node->mem_mib;
	for (uint32_t i = 0; i < node->nnumas; i++) {
		int64_t part = sum * (i + 1) / n - sum * i / n;

		node->numa_mem[i] -= part;
		if (node->numa_mem[i] < 0)
			node->numa_mem[i] = 0;
	}
}

/* If the runner only counts CPUs but the configuration gives the node several
 * NUMA nodes: make up a list of CPUs, each a core of its own, divided evenly
 * among the NUMA nodes. A runner that binds no tasks needs none: their CPUs are
 * those of all NUMA nodes. */
static void deal_cpus(const struct state *state, struct node *node)
{
	const struct conf_pool *pool = &state->conf->pools[node->pool];
	uint32_t n = (uint32_t)(node->cpu_milli / 1000);

	if (node->ncpus_found)
		return;
	node->ncpus = 0;
	if (count_numas(node->conf) <= 1 || !runner_traits(pool->runner)->binds)
		return;
	free(node->cpu_numa);
	free(node->cpu_core);
	free(node->cpu_reserved);
	node->ncpus = n;
	node->cpu_numa = xcalloc(n + 1, sizeof(*node->cpu_numa));
	node->cpu_core = xcalloc(n + 1, sizeof(*node->cpu_core));
	node->cpu_reserved = xcalloc(n + 1, sizeof(bool));
	for (uint32_t i = 0; i < n; i++) {
		node->cpu_numa[i] = group_of(i, n, count_numas(node->conf));
		node->cpu_core[i] = (uint16_t)i;
	}
}

static uint64_t section_key(uint32_t pool, const char *name)
{
	return hash_bytes(pool, name, strlen(name));
}

void node_index_sections(struct state *state)
{
	const struct conf *conf = state->conf;

	map_free(&state->nodes.sections);
	for (size_t i = 0; i < conf->nnodes; i++)
		map_set(&state->nodes.sections,
		        section_key((uint32_t)conf->nodes[i].pool,
		                    conf->nodes[i].name),
		        (void *)(uintptr_t)(i + 1));
}

/* Returns how many devices the node has by its section; of kinds that the
 * runner knows by name at most as many as it found. */
static struct device_counts configured_devs(const struct node *node)
{
	struct device_counts devs = node->conf->devs;

	for (int i = 0; i < DEVICE_KINDS; i++)
		if (node->kinds_named >> i & 1 &&
		    devs.n[i] > node->devs_found.n[i])
			devs.n[i] = node->devs_found.n[i];
	return devs;
}

void node_apply_conf(struct state *state, struct node *node)
{
	uintptr_t section = (uintptr_t)map_find(
	    &state->nodes.sections, section_key(node->pool, node->name));

	node->conf = section ? &state->conf->nodes[section - 1] : NULL;
	node->cpu_milli = node->cpu_found;
	node->mem_mib = node->mem_found;
	node->tmp_mib = node->tmp_found;
	node->ncpus = node->ncpus_found;
	node->devs = node->devs_found;
	if (node->cpu_reserved)
		memset(node->cpu_reserved, 0, node->ncpus * sizeof(bool));
	if (!node->conf) {
		deal_cpus(state, node);
		deal_memory(state, node);
		return;
	}
	if (node->conf->cpus != CONF_NONE) {
		node->cpu_milli = node->conf->cpus * 1000;
		/* If the runner found fewer CPUs than are configured, count
		 * CPUs only, and bind no tasks to them. */
		if (node->conf->cpus > node->ncpus)
			node->ncpus = 0;
		for (uint32_t i = (uint32_t)node->conf->cpus; i < node->ncpus;
		     i++)
			node->cpu_reserved[i] = true;
	}
	deal_cpus(state, node);
	if (node->conf->memory != CONF_NONE)
		node->mem_mib = node->conf->memory;
	if (node->conf->tmp != CONF_NONE)
		node->tmp_mib = node->conf->tmp;
	if (node->conf->devices.n)
		node->devs = configured_devs(node);
	node->mem_mib -= node->conf->reserve_memory;
	if (node->conf->reserve_cpus > 0)
		reserve_cpus(node, node->conf->reserve_cpus);
	deal_memory(state, node);
}

/* Set the NUMA nodes of CPUs and GPUs. Those that a kubelet chose stay, unless
 * other numbers of devices are in the NUMA nodes. */
static void see_zones(struct node *node, const struct node_info *info)
{
	uint8_t *cpus = copy(info->cpu_numa, info->ncpus, 1);
	uint8_t *gpus = copy(info->gpu_numa, info->ngpus, 1);

	if (node->zone_gpus && info->zone_gpus &&
	    node->ncpus_found == info->ncpus && node->ngpus == info->ngpus) {
		kubelet_keep(cpus, node->cpu_numa, info->ncpus);
		kubelet_keep(gpus, node->gpu_numa, info->ngpus);
	}
	free(node->cpu_numa);
	free(node->gpu_numa);
	free(node->zone_gpus);
	free(node->zone_cpus);
	node->cpu_numa = cpus;
	node->gpu_numa = gpus;
	node->zone_gpus =
	    info->zone_gpus ? copy(info->zone_gpus, LIMIT_SOCKETS, 8) : NULL;
	node->zone_cpus =
	    info->zone_cpus ? copy(info->zone_cpus, LIMIT_SOCKETS, 8) : NULL;
}

static void see_cpus(struct node *node, const struct node_info *info)
{
	free(node->cpu_core);
	free(node->cpu_reserved);
	free(node->numa_found);
	node->ncpus_found = info->ncpus;
	node->slots = info->slots;
	node->cpu_found = info->cpu_milli;
	node->mem_found = info->mem_mib;
	node->tmp_found = info->tmp_mib;
	node->cpu_core = copy(info->cpu_core, info->ncpus, 2);
	node->cpu_reserved = xcalloc(info->ncpus + 1, sizeof(bool));
	node->nnumas_found = info->nnumas;
	node->numa_found = copy(info->numa_mem, info->nnumas, 8);
	node->policy = info->policy;
}

static void see_gpus(struct node *node, const struct node_info *info)
{
	free(node->gpu_link);
	free(node->gpu_root);
	free(node->gpu_parts);
	node->ngpus = info->ngpus;
	node->gpu_link = copy(info->gpu_link, info->ngpus, 1);
	node->gpu_root = copy(info->gpu_root, info->ngpus, 2);
	node->gpu_parts =
	    info->gpu_parts ? copy(info->gpu_parts, info->ngpus, 8) : NULL;
	node->mig = info->mig;
	text_set(&node->gpu_type, info->gpu_type);
	node->gpu_mem_mib = info->gpu_mem_mib;
	node->gpus_named = info->gpus_named;
	node->gpu_numas_known = info->gpu_numas_known;
	node->gpus_shared = info->gpus_shared;
	node->devs_found = info->devs;
	node->kinds_named = info->kinds_named;
	node->kinds_rooted = info->kinds_rooted;
	node->kinds_zoned = info->kinds_zoned;
}

/* Set what those that the daemon does not schedule use. */
static void see_others(struct node *node, const struct node_info *info)
{
	free(node->gpu_held);
	free(node->parts_others);
	node->cpu_others = info->used_cpu_milli;
	node->mem_others = info->used_mem_mib;
	node->tmp_others = info->used_tmp_mib;
	node->gpu_others = info->used_gpu_milli;
	node->gpu_held =
	    info->gpus_named ? copy(info->gpu_held, info->ngpus, 2) : NULL;
	node->parts_others = info->used_parts
	                         ? copy(info->used_parts, MIG_PROFILES_MOST, 2)
	                         : NULL;
	node->devs_others = info->used_devs;
	node->slots_others = info->used_slots;
}

/* Note that a node has changed. Plans that are being made are stale then; what
 * snapshots say about jobs is not. */
static void has_changed(struct state *state)
{
	state->gen++;
	placed_keep(state);
	state_replan(state);
}

void state_node_seen(struct state *state, uint32_t pool,
                     const struct node_info *info)
{
	uint32_t n = seen(state, pool, info->name);
	struct node *node = &state->nodes.node[n];
	uint64_t key = state->nodes.frame ? node_frame_key(node) : 0;
	bool zones = node->zone_gpus != NULL;
	struct node_info other;

	info = scale_see(state, n, info, &other);
	if (node->gone)
		node->dirty = state->nodes.dirty = true;
	if (info->gone)
		state->nodes.forget_at = 0;
	node->gone = info->gone;
	node->down = info->down;
	node->cordoned = info->cordoned;
	text_set(&node->seen_reason, info->reason);
	see_zones(node, info);
	see_cpus(node, info);
	see_gpus(node, info);
	see_others(node, info);
	devices_seen(state, n, info);
	text_set(&node->topology, info->topology);
	if (node->scale)
		scale_complete(state, node);
	set_words(&node->features, &info->features);
	set_words(&node->taints, &info->taints);
	node_apply_conf(state, node);
	if (zones || node->zone_gpus || node_frame_key(node) != key)
		node_frame_drop(&state->nodes);
	pool_count_node(state, node);
	map_free(&state->nodes.fits);
	has_changed(state);
	scale_match(state, n);
}

void node_tell_drain(struct state *state, uint32_t node)
{
	state_effect(state,
	             (struct effect){ .kind = EFFECT_DRAIN, .node = node });
}

const char *node_reason(const struct node *node)
{
	if (node->drain_reason && !node->down && !node->gone)
		return node->drain_reason;
	return node->seen_reason ? node->seen_reason : node->avoid_reason;
}

int state_drain(struct state *state, uint32_t n, bool drained,
                const char *reason, struct err *err)
{
	struct node *node = &state->nodes.node[n];

	if (drained && (!reason || !*reason))
		return err_set(err, EINVAL, "draining needs a reason: -r TEXT");
	node->drained = drained;
	state->nodes.forget_at = 0;
	text_set(&node->drain_reason, drained ? reason : NULL);
	node_tell_drain(state, n);
	node->dirty = state->nodes.dirty = true;
	has_changed(state);
	return 0;
}

void node_clear(struct node *node)
{
	free(node->drain_reason);
	free(node->seen_reason);
	free(node->avoid_reason);
	free(node->cpu_numa);
	free(node->gpu_numa);
	free(node->gpu_link);
	free(node->gpu_parts);
	free(node->gpu_root);
	free(node->parts_others);
	free(node->gpu_held);
	free(node->zone_gpus);
	free(node->zone_cpus);
	free(node->numa_found);
	free(node->numa_mem);
	free(node->cpu_core);
	free(node->cpu_reserved);
	free(node->gpu_type);
	free(node->topology);
	devices_free(node->named);
	free_words(&node->features);
	free_words(&node->taints);
}

void nodes_free(struct node_table *nodes)
{
	for (size_t i = 0; i < nodes->n; i++) {
		node_clear(&nodes->node[i]);
		free(nodes->node[i].full);
	}
	free(nodes->node);
	free(nodes->spare);
	node_frame_drop(nodes);
	device_tasks_free(nodes->device_tasks);
	map_free(&nodes->by_name);
	map_free(&nodes->sections);
	map_free(&nodes->fits);
}
