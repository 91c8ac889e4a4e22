/* node.c - nodes, pools, queues, and another configuration */
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

size_t state_nnodes(const struct state *state)
{
	return state->nnodes;
}

struct node *state_node(const struct state *state, uint32_t node)
{
	return &state->node[node];
}

static uint64_t name_key(const char *name)
{
	return hash_bytes(0, name, strlen(name));
}

int state_node_find(const struct state *state, const char *name)
{
	/* The number is kept plus one: the map cannot hold NULL. */
	uintptr_t known =
	    (uintptr_t)map_find(&state->node_names, name_key(name));

	return (int)known - 1;
}

uint32_t node_intern(struct state *state, const char *name, uint32_t pool)
{
	int known = state_node_find(state, name);

	if (known >= 0)
		return (uint32_t)known;
	state->node = GROW(state->node, state->nnodes, &state->node_cap);
	state->node[state->nnodes] =
	    (struct node){ .name = xstrdup(name), .pool = pool, .gone = true };
	map_set(&state->node_names, name_key(name),
	        (void *)(uintptr_t)(state->nnodes + 1));
	return (uint32_t)state->nnodes++;
}

static void *copy(const void *from, size_t n, size_t size)
{
	void *to = xcalloc(n ? n : 1, size);

	if (n && from)
		memcpy(to, from, n * size);
	return to;
}

static void set_text(char **text, const char *to)
{
	char *was = *text;

	*text = to ? xstrdup(to) : NULL;
	free(was);
}

void node_free_words(struct strlist *list)
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
	node_free_words(list);
	*list = (struct strlist){ to->n, s };
}

/* The last CPUs are the system's: interrupts favour the first ones less
 * than users favour round numbers. */
static void reserve_cpus(struct node *node, int64_t milli)
{
	int64_t whole = (milli + 999) / 1000;

	for (uint32_t i = node->ncpus; i-- && whole-- > 0;)
		node->cpu_reserved[i] = true;
	node->cpu_milli -= milli;
	if (node->ncpus)
		node->cpu_milli -= node->cpu_milli % 1000;
}

/* Devices lie evenly in sockets and link groups, in their order. */
static uint8_t group_of(int64_t device, int64_t ndevices, int64_t groups)
{
	return (uint8_t)(device * groups / ndevices);
}

uint8_t node_gpu_numa(const struct node *node, uint32_t gpu)
{
	return node->conf && node->conf->sockets != CONF_NONE
	           ? group_of(gpu, node->ngpus, node->conf->sockets)
	           : node->gpu_numa[gpu];
}

uint8_t node_gpu_link(const struct node *node, uint32_t gpu)
{
	return node->conf && node->conf->gpu_link_groups != CONF_NONE
	           ? group_of(gpu, node->ngpus, node->conf->gpu_link_groups)
	           : node->gpu_link[gpu];
}

/* Where the runner knows only how many CPUs there are, and somebody says how
 * many sockets: one core each, evenly in these. */
static void deal_cpus(struct node *node)
{
	uint32_t n = (uint32_t)(node->cpu_milli / 1000);

	if (node->ncpus_found)
		return;
	node->ncpus = 0;
	if (!node->conf || node->conf->sockets <= 1)
		return;
	free(node->cpu_numa);
	free(node->cpu_core);
	free(node->cpu_reserved);
	node->ncpus = n;
	node->cpu_numa = xcalloc(n + 1, sizeof(*node->cpu_numa));
	node->cpu_core = xcalloc(n + 1, sizeof(*node->cpu_core));
	node->cpu_reserved = xcalloc(n + 1, sizeof(bool));
	for (uint32_t i = 0; i < n; i++) {
		node->cpu_numa[i] = group_of(i, n, node->conf->sockets);
		node->cpu_core[i] = (uint16_t)i;
	}
}

void node_index_sections(struct state *state)
{
	const struct conf *conf = state->conf;

	map_free(&state->sections);
	for (size_t i = 0; i < conf->nnodes; i++)
		map_set(&state->sections, name_key(conf->nodes[i].name),
		        (void *)(uintptr_t)(i + 1));
}

void node_apply_conf(struct state *state, struct node *node)
{
	uintptr_t section =
	    (uintptr_t)map_find(&state->sections, name_key(node->name));

	node->conf = section ? &state->conf->nodes[section - 1] : NULL;
	node->cpu_milli = node->cpu_found;
	node->mem_mib = node->mem_found;
	node->ncpus = node->ncpus_found;
	if (node->cpu_reserved)
		memset(node->cpu_reserved, 0, node->ncpus * sizeof(bool));
	if (!node->conf) {
		deal_cpus(node);
		return;
	}
	if (node->conf->cpus != CONF_NONE) {
		node->cpu_milli = node->conf->cpus * 1000;
		/* More than there are: they are counted, not bound. */
		if (node->conf->cpus > node->ncpus)
			node->ncpus = 0;
		for (uint32_t i = (uint32_t)node->conf->cpus; i < node->ncpus;
		     i++)
			node->cpu_reserved[i] = true;
	}
	deal_cpus(node);
	if (node->conf->memory != CONF_NONE)
		node->mem_mib = node->conf->memory;
	node->mem_mib -= node->conf->reserve_memory;
	if (node->conf->reserve_cpus > 0)
		reserve_cpus(node, node->conf->reserve_cpus);
}

void state_node_seen(struct state *state, uint32_t pool,
                     const struct node_info *info)
{
	uint32_t n = node_intern(state, info->name, pool);
	struct node *node = &state->node[n];

	free(node->cpu_numa);
	free(node->cpu_core);
	free(node->cpu_reserved);
	free(node->gpu_numa);
	free(node->gpu_link);
	if (node->gone || node->pool != pool)
		node->dirty = state->nodes_dirty = true;
	node->pool = pool;
	node->gone = info->gone;
	node->down = info->down;
	node->cordoned = info->cordoned;
	/* Why it is drained is not forgotten for less than its loss. */
	if (!node->drained || info->down || info->gone)
		set_text(&node->reason, info->reason);
	node->ncpus_found = info->ncpus;
	node->ngpus = info->ngpus;
	node->cpu_found = info->cpu_milli;
	node->mem_found = info->mem_mib;
	node->cpu_numa = copy(info->cpu_numa, info->ncpus, 1);
	node->cpu_core = copy(info->cpu_core, info->ncpus, 2);
	node->cpu_reserved = xcalloc(info->ncpus + 1, sizeof(bool));
	node->gpu_numa = copy(info->gpu_numa, info->ngpus, 1);
	node->gpu_link = copy(info->gpu_link, info->ngpus, 1);
	set_text(&node->gpu_type, info->gpu_type);
	set_text(&node->topology, info->topology);
	set_words(&node->features, &info->features);
	set_words(&node->taints, &info->taints);
	node->cpu_others = info->used_cpu_milli;
	node->mem_others = info->used_mem_mib;
	node->gpus_others = info->used_gpus;
	node_apply_conf(state, node);
	map_free(&state->fits);
	state->gen++;
	state_replan(state);
}

void state_pool_ready(struct state *state, uint32_t pool, bool ready)
{
	state->pool_ready[pool] = ready;
	state->gen++;
	state_replan(state);
}

void state_lose_orphans(struct state *state, uint32_t pool, int64_t now)
{
	struct job *next;

	for (struct job *job = state->placed; job; job = next) {
		const struct node *node =
		    &state->node[job->place->task[0].node];
		struct event_in ev = { .kind = EV_lost,
			               .now = now,
			               .text = "its node is no longer there" };

		next = job->row_next;
		if (node->gone && node->pool == pool)
			state_event(state, job, &ev, NULL);
	}
}

bool state_pool_is_ready(const struct state *state, uint32_t pool)
{
	return state->pool_ready[pool];
}

void state_pool_trouble(struct state *state, uint32_t pool, const char *text)
{
	set_text(&state->pool_trouble[pool], text);
}

void node_tell_drain(struct state *state, uint32_t node)
{
	state_effect(state,
	             (struct effect){ .kind = EFFECT_DRAIN, .node = node });
}

int state_drain(struct state *state, uint32_t n, bool drained,
                const char *reason, struct err *err)
{
	struct node *node = &state->node[n];

	if (drained && (!reason || !*reason))
		return err_set(err, EINVAL, "draining needs a reason: -r TEXT");
	node->drained = drained;
	set_text(&node->reason, drained ? reason : NULL);
	node_tell_drain(state, n);
	node->dirty = state->nodes_dirty = true;
	state->gen++;
	state_replan(state);
	return 0;
}

static bool queue_is_below(const struct state *state, uint32_t queue,
                           uint32_t top)
{
	int q = (int)queue;

	while (q >= 0 && (uint32_t)q != top)
		q = state->conf->queues[q].parent;
	return q >= 0;
}

int queue_closed_by(const struct state *state, uint32_t queue)
{
	int q = (int)queue;

	while (q >= 0 && !state->queue[q].closed)
		q = state->conf->queues[q].parent;
	return q;
}

void state_queue_set_open(struct state *state, uint32_t queue, bool open,
                          int64_t now)
{
	if (state->queue[queue].closed == !open)
		return;
	state->queue[queue].closed = !open;
	state->queues_dirty = true;
	for (struct job *job = state->first; job; job = job->all_next)
		if (job->state == JOB_PENDING &&
		    queue_is_below(state, job->queue, queue))
			state_reindex(state, job, now);
}

/* --- what a request means here ----------------------------------------- */

/* Images are for containers; and a device of a cluster is not shared. */
static uint64_t runner_pools(const struct conf *conf, const struct spec *spec)
{
	bool contained = spec->image || spec->mount;
	bool shares = spec->gpus > 0 && spec->gpus % 1000;
	uint64_t pools = 0;

	for (size_t i = 0; i < conf->npools; i++) {
		bool cluster = conf->pools[i].runner == RUNNER_KUBERNETES;

		if (cluster ? !shares : !contained)
			pools |= (uint64_t)1 << i;
	}
	return pools;
}

uint64_t spec_pools(const struct state *state, const struct spec *spec,
                    uint32_t queue)
{
	const struct conf *conf = state->conf;
	uint64_t pools = UINT64_MAX;

	if (conf->npools < 64)
		pools = ((uint64_t)1 << conf->npools) - 1;
	for (int q = (int)queue; q >= 0; q = conf->queues[q].parent)
		pools &= conf->queues[q].pools;
	if (spec->pool) {
		int pool = conf_pool_find(conf, spec->pool);

		pools &= pool < 0 ? 0 : (uint64_t)1 << pool;
	}
	return pools & runner_pools(conf, spec);
}

int64_t state_default_mem(const struct state *state, uint64_t pools)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < state->conf->npools; i++)
		if (pools >> i & 1 &&
		    state->conf->pools[i].default_memory_per_cpu != CONF_NONE &&
		    state->conf->pools[i].default_memory_per_cpu < least)
			least = state->conf->pools[i].default_memory_per_cpu;
	for (size_t i = 0; i < state->nnodes; i++) {
		const struct node *node = &state->node[i];
		int64_t ratio;

		if (node->gone || !(pools >> node->pool & 1) ||
		    node->cpu_milli < 1 ||
		    state->conf->pools[node->pool].default_memory_per_cpu !=
		        CONF_NONE)
			continue;
		ratio = node->mem_mib * 1000 / node->cpu_milli;
		if (ratio < least)
			least = ratio;
	}
	return least == INT64_MAX ? 0 : least;
}

/* --- another configuration --------------------------------------------- */

/* jobs: of each queue, with those that have ended and are not yet written. */
static int remap(const struct state *state, const struct conf *conf,
                 const uint32_t *jobs, uint32_t *queue_to, struct err *err)
{
	const struct conf *old = state->conf;

	for (size_t q = 0; q < old->nqueues; q++) {
		const char *name = old->queues[q].name;
		int to = conf_queue_find(conf, name);

		queue_to[q] = (uint32_t)to;
		if (jobs[q] && (to < 0 || !conf->queues[to].leaf))
			return err_set(err, EBUSY,
			               "queue '%s' still has %u jobs", name,
			               jobs[q]);
	}
	for (size_t i = 0; i < state->nnodes; i++) {
		const char *pool = old->pools[state->node[i].pool].name;

		if (conf_pool_find(conf, pool) < 0 && !state->node[i].gone)
			return err_set(err, EBUSY,
			               "pool '%s' has nodes: removing it takes "
			               "a restart",
			               pool);
	}
	return 0;
}

static void reconf_queues(struct state *state, const struct conf *conf,
                          const uint32_t *queue_to, int64_t now)
{
	struct queue_state *queue = xcalloc(conf->nqueues, sizeof(*queue));

	for (size_t q = 0; q < conf->nqueues; q++)
		queue[q].closed = conf->queues[q].closed;
	/* What was done by hand holds while the file says what it said. */
	for (size_t q = 0; q < state->conf->nqueues; q++)
		if (queue_to[q] != (uint32_t)-1 &&
		    state->conf->queues[q].closed ==
		        conf->queues[queue_to[q]].closed)
			queue[queue_to[q]].closed = state->queue[q].closed;
	free(state->queue);
	state->queue = queue;
	state->queues_dirty = true;
	usage_reconf(state, queue_to, now);
	memset(state->counts, 0, sizeof(state->counts));
	for (struct job *job = state->first; job; job = job->all_next) {
		job->queue = queue_to[job->queue];
		state_count(state, job, 1);
	}
}

static void reconf_pools(struct state *state, const struct conf *conf)
{
	bool ready[LIMIT_POOLS] = { false };
	char *trouble[LIMIT_POOLS] = { NULL };

	for (size_t i = 0; i < state->nnodes; i++) {
		struct node *node = &state->node[i];
		int pool =
		    conf_pool_find(conf, state->conf->pools[node->pool].name);

		node->pool = pool < 0 ? 0 : (uint32_t)pool;
	}
	for (size_t i = 0; i < state->conf->npools; i++) {
		int pool = conf_pool_find(conf, state->conf->pools[i].name);

		if (pool >= 0) {
			ready[pool] = state->pool_ready[i];
			trouble[pool] = state->pool_trouble[i];
		} else {
			free(state->pool_trouble[i]);
		}
	}
	memcpy(state->pool_ready, ready, sizeof(ready));
	memcpy(state->pool_trouble, trouble, sizeof(trouble));
}

int state_reconf(struct state *state, const struct conf *conf, int64_t now,
                 struct err *err)
{
	size_t n = state->conf->nqueues;
	uint32_t *queue_to = xcalloc(n, sizeof(*queue_to));
	uint32_t *jobs = xcalloc(n, sizeof(*jobs));
	int result;

	for (const struct job *job = state->first; job; job = job->all_next)
		jobs[job->queue] += job_count(job);
	result = remap(state, conf, jobs, queue_to, err);
	if (result == 0)
		reconf_queues(state, conf, queue_to, now);
	free(queue_to);
	free(jobs);
	if (result < 0)
		return -1;
	reconf_pools(state, conf);
	state->conf = conf;
	node_index_sections(state);
	map_free(&state->fits);
	state_forget_plan(state);
	for (size_t i = 0; i < state->nnodes; i++)
		node_apply_conf(state, &state->node[i]);
	for (struct job *job = state->first; job; job = job->all_next) {
		struct spec spec;

		spec_unpack(&spec, job->packed);
		job_set_manners(state, job, &spec);
		placed_key_forget(job);
		if (job->state == JOB_PENDING)
			state_reindex(state, job, now);
	}
	state->gen++;
	state_replan(state);
	return 0;
}

/* --- placements as text ------------------------------------------------ */

void state_placement_format(const struct state *state,
                            const struct placement *place, struct buf *out)
{
	for (uint32_t i = 0; i < place->ntasks; i++) {
		const struct snap_task *t = &place->task[i];

		buf_printf(out, "%s%s:%llx:%u:", i ? ";" : "",
		           state->node[t->node].name,
		           (unsigned long long)t->gpus, t->gpu_milli);
		for (uint32_t c = t->cpu_first; c < t[1].cpu_first; c++)
			buf_printf(out, "%s%u/%u", c > t->cpu_first ? "," : "",
			           place->cpu_use[c].cpu,
			           place->cpu_use[c].milli);
	}
}

static int task_parse(struct state *state, const char **s,
                      struct snap_task *task, struct snap_cpu_use **use,
                      size_t *n, size_t *cap)
{
	const char *colon = strchr(*s, ':');
	char *end, *name;

	if (!colon)
		return -1;
	name = xstrndup(*s, (size_t)(colon - *s));
	task->node = node_intern(state, name, 0);
	free(name);
	task->gpus = strtoull(colon + 1, &end, 16);
	if (*end++ != ':')
		return -1;
	task->gpu_milli = (uint16_t)strtoul(end, &end, 10);
	if (*end++ != ':')
		return -1;
	task->cpu_first = (uint32_t)*n;
	while (*end && *end != ';') {
		*use = GROW(*use, *n, cap);
		(*use)[*n].cpu = (uint16_t)strtoul(end, &end, 10);
		if (*end++ != '/')
			return -1;
		(*use)[(*n)++].milli = (uint16_t)strtoul(end, &end, 10);
		if (*end == ',')
			end++;
		else if (*end && *end != ';')
			return -1;
	}
	*s = end;
	return 0;
}

struct placement *state_placement_parse(struct state *state, const char *text,
                                        struct err *err)
{
	struct placement *place = NULL;
	struct snap_task *task = NULL;
	struct snap_cpu_use *use = NULL;
	size_t ntasks = 0, task_cap = 0, nuse = 0, use_cap = 0;
	const char *s = text;

	for (;;) {
		task = GROW(task, ntasks + 1, &task_cap);
		if (task_parse(state, &s, &task[ntasks], &use, &nuse,
		               &use_cap) < 0) {
			err_set(err, EINVAL, "bad placement '%s'", text);
			goto out;
		}
		ntasks++;
		if (*s != ';')
			break;
		s++;
	}
	task[ntasks] = (struct snap_task){ .cpu_first = (uint32_t)nuse };
	place = placement_new((uint32_t)ntasks, task, use);
out:
	free(task);
	free(use);
	return place;
}

/* --- sums for people --------------------------------------------------- */

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

static bool is_below(const struct conf *conf, int queue, uint32_t top)
{
	while (queue >= 0 && (uint32_t)queue != top)
		queue = conf->queues[queue].parent;
	return queue >= 0;
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
		if (is_below(state->conf, (int)job->queue, queue))
			add_used(job, -1, ret, 1);
}

const int64_t *state_queue_share(const struct state *state, uint32_t queue)
{
	return state->plan_share ? state->plan_share[queue] : NULL;
}
