/* pool.c - pools: reports of their runners, and which may take a job */
#include "aischedd/state/cluster/pool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool_devices.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"
#include "libcommon/topology.h"

/* --- whether a pool can satisfy --numa and --links, and shares GPUs ------- */

static enum node_gives gives(const struct node *node)
{
	static const enum node_gives by_policy[NODE_POLICIES] = {
		[NODE_POLICY_UNKNOWN] = GIVES_COUNTED,
		[NODE_POLICY_NONE] = GIVES_ANYWHERE,
		[NODE_POLICY_BEST_EFFORT] = GIVES_BEST_EFFORT,
		[NODE_POLICY_RESTRICTED] = GIVES_TIGHT,
		[NODE_POLICY_SINGLE] = GIVES_STRICT,
	};
	bool said = node->conf && (node->conf->gpu_numa.n ||
	                           node->conf->sockets != CONF_NONE);

	if (node->gone || !node->ngpus)
		return GIVES_NONE;
	if (!node->gpus_named)
		return by_policy[node->policy];
	return said || node->gpu_numas_known ? GIVES_NAMED : GIVES_NO_NUMA;
}

static bool demands_numa(const struct spec *spec)
{
	int numa = numa_parse(spec->numa);

	return numa == NUMA_STRICT || numa == NUMA_TIGHT;
}

static bool demands_part(const struct spec *spec)
{
	return (spec->gpus > 0 && spec->gpus % 1000) || spec_gets_part(spec);
}

static bool demands_place(const struct spec *spec)
{
	return demands_numa(spec) || links_parse(spec->links) == LINKS_STRICT;
}

bool pool_align_is_asked(const struct spec *spec)
{
	return demands_place(spec) || demands_part(spec) ||
	       pool_devices_are_placed(spec);
}

/* Whether kubelets choose the GPUs of some nodes. */
static bool has_chooser(const uint32_t n[GIVES_KINDS])
{
	for (int i = GIVES_COUNTED; i <= GIVES_STRICT; i++)
		if (n[i])
			return true;
	return false;
}

/* Whether the job asks for devices other than GPUs that claims give. */
static bool asks_claimed(const struct conf *conf, const struct spec *spec)
{
	struct device_counts n;

	if (!spec->device || devices_parse(conf->device_names, conf->ndevices,
	                                   spec->device, &n, NULL) < 0)
		return false;
	for (size_t i = 0; i < conf->ndevices; i++)
		if (n.n[i] && conf->devices[i].class)
			return true;
	return false;
}

/* Whether tasks can get parts of GPUs in the pool. If not, sets *err. A cluster
 * is assumed to share its GPUs until it has listed nodes with GPUs. */
static bool shares(const struct state *state, uint32_t pool,
                   const struct spec *spec, struct err *err)
{
	const struct conf_pool *conf = &state->conf->pools[pool];
	const uint32_t *n = state->pools.pool[pool].gives;

	if (runner_traits(conf->runner)->shares_gpus)
		return true;
	if (conf->gpu_sharing == SHARING_NONE)
		err_set(err, EINVAL,
		        "--%s: pool '%s' is a cluster, where a GPU is not "
		        "shared: ask for whole ones",
		        spec_gets_part(spec) ? "gpu-memory" : "gpus-per-task",
		        conf->name);
	else if (conf->gpu_sharing == SHARING_CLAIMS &&
	         asks_claimed(state->conf, spec))
		err_set(err, EINVAL,
		        "--device: pool '%s': a part of a GPU is given by the "
		        "claim of all its tasks (gpu_sharing = claims), and no "
		        "other devices beside it: ask for whole GPUs",
		        conf->name);
	else if (state->pools.pool[pool].ready &&
	         !state->pools.pool[pool].nshares &&
	         (has_chooser(n) || n[GIVES_NAMED] + n[GIVES_NO_NUMA]))
		err_set(err, EINVAL, "pool '%s': %s: ask for whole ones",
		        conf->name,
		        conf->gpu_sharing == SHARING_CLAIMS
		            ? "its nodes give GPUs by a plugin, which shares "
		              "none"
		            : "its driver does not share GPUs (no "
		              "consumable capacity)");
	else
		return true;
	return false;
}

/* Returns how the kubelets of nodes choose devices, if those of some nodes
 * refuse no pod for the place of its devices; else NULL. */
static const char *loose_policy(const uint32_t n[GIVES_KINDS])
{
	return n[GIVES_COUNTED] || !has_chooser(n)
	           ? "unknown: no NodeResourceTopology for them"
	       : n[GIVES_ANYWHERE]    ? "'none'"
	       : n[GIVES_BEST_EFFORT] ? "'best-effort'"
	                              : NULL;
}

/* Whether pods of the request get CPUs of their own from kubelets that choose
 * CPUs and GPUs together. If not, sets *err. */
static bool has_own_cpus(const struct conf_pool *conf, const struct spec *spec,
                         struct err *err)
{
	if (conf->cpus_unlimited || conf->cpu_overcommit > 1000)
		err_set(err, EINVAL,
		        "pool '%s': its pods get no CPUs of their own "
		        "(cpu_limit, cpu_overcommit): --numa %s cannot be had "
		        "there",
		        conf->name, spec->numa);
	else if (spec_is_set(spec->cpus) && spec->cpus % 1000)
		err_set(err, EINVAL,
		        "pool '%s': its kubelets give whole CPUs only to pods "
		        "with --numa %s: ask for a whole number of CPUs",
		        conf->name, spec->numa);
	else if (spec->mem_node == 0)
		err_set(err, EINVAL,
		        "pool '%s': its kubelets count memory for --numa %s: "
		        "ask for an amount with --mem",
		        conf->name, spec->numa);
	else
		return true;
	return false;
}

/* Whether kubelets that choose the GPUs of tasks can meet the demands. If not,
 * sets *err. */
static bool kubelets_align(const struct conf_pool *conf,
                           const uint32_t n[GIVES_KINDS],
                           const struct spec *spec, struct err *err)
{
	const char *policy = loose_policy(n);
	bool links = links_parse(spec->links) == LINKS_STRICT;
	char text[64];

	if (!policy && !links)
		return has_own_cpus(conf, spec, err);
	snprintf(text, sizeof(text), ", topology manager %s",
	         policy ? policy : "");
	err_set(err, EINVAL,
	        "pool '%s': its nodes choose devices themselves (device "
	        "plugin%s): --%s %s cannot be had there",
	        conf->name, policy ? text : "",
	        demands_numa(spec) && policy ? "numa" : "links",
	        demands_numa(spec) && policy ? spec->numa : spec->links);
	return false;
}

bool pool_aligns(const struct state *state, uint32_t pool,
                 const struct spec *spec, struct err *err)
{
	const struct conf_pool *conf = &state->conf->pools[pool];
	const uint32_t *n = state->pools.pool[pool].gives;
	struct err none;

	err = err ? err : &none;
	if (pool_devices_are_placed(spec) &&
	    runner_traits(conf->runner)->has_api &&
	    !pool_devices_aligns(state, pool, spec, err))
		return false;
	if (demands_part(spec) && !shares(state, pool, spec, err))
		return false;
	/* Assume that a cluster can align tasks until it has
	 * listed its nodes. */
	if (!runner_traits(conf->runner)->has_api ||
	    !state->pools.pool[pool].ready || !demands_place(spec))
		return true;
	if ((has_chooser(n) || !(n[GIVES_NAMED] + n[GIVES_NO_NUMA])) &&
	    !kubelets_align(conf, n, spec, err))
		return false;
	if (demands_numa(spec) && n[GIVES_NO_NUMA])
		err_set(err, EINVAL,
		        "pool '%s': NUMA nodes of its GPUs are not known; "
		        "'node' sections can say them",
		        conf->name);
	else
		return true;
	return false;
}

/* Returns which kinds of nodes the pool has, and what these know, as bits:
 * pool_aligns() depends on that. */
static uint64_t answers(const struct pool *pool)
{
	uint64_t ret = pool->nshares != 0;

	for (int i = GIVES_COUNTED; i < GIVES_KINDS; i++)
		ret |= (uint64_t)(pool->gives[i] != 0) << i;
	for (int i = 0; i < NODE_KNOWS; i++)
		ret |= (uint64_t)(pool->knows[i] != 0) << (GIVES_KINDS + i);
	return ret;
}

/* Returns how all kubelets that choose the GPUs of nodes place a pod, or refuse
 * it. */
static enum numa kubelets_of(const struct pool *pool)
{
	const uint32_t *n = pool->gives;

	if (!pool->ready || loose_policy(n) || n[GIVES_NAMED] ||
	    n[GIVES_NO_NUMA])
		return NUMA_ANY;
	return n[GIVES_TIGHT] ? NUMA_TIGHT : NUMA_STRICT;
}

/* Look again at jobs after the kinds of nodes of a pool have changed: at all
 * jobs if its kubelets place pods in another way. */
static void kinds_changed(struct state *state, struct pool *pool)
{
	enum numa now = kubelets_of(pool);
	bool same = pool->kubelets == now;

	pool->kubelets = now;
	sweep_begin(state, same ? SWEEP_ALIGNED : SWEEP_PENDING, NO_TIME);
}

enum numa pool_numa(const struct state *state, uint64_t pools,
                    const struct spec *spec)
{
	enum numa own = (enum numa)numa_parse(spec->numa);
	enum numa least = NUMA_STRICT, kubelets;

	/* The kubelet places only whole CPUs, and then all else with them. */
	if (!pools || own == NUMA_STRICT ||
	    (spec_is_set(spec->cpus) && spec->cpus % 1000))
		return own;
	for (uint32_t i = 0; i < state->conf->npools; i++) {
		if (!(pools >> i & 1))
			continue;
		kubelets = kubelets_of(&state->pools.pool[i]);
		if (kubelets == NUMA_ANY)
			return own;
		if (kubelets == NUMA_TIGHT)
			least = NUMA_TIGHT;
	}
	return least;
}

void pool_count_node(struct state *state, struct node *node)
{
	struct pool *pool = &state->pools.pool[node->pool];
	uint64_t was = answers(pool);
	enum node_gives now = gives(node);
	uint32_t known = pool_devices_known(node);
	bool share = now != GIVES_NONE && node->gpus_shared;

	if (node->gives == now && node->counts_shared == share &&
	    node->knows == known)
		return;
	pool->gives[node->gives] -= node->gives != GIVES_NONE;
	pool->gives[now] += now != GIVES_NONE;
	pool->nshares -= node->counts_shared;
	pool->nshares += share;
	for (int i = 0; i < NODE_KNOWS; i++)
		pool->knows[i] += (known >> i & 1) - (node->knows >> i & 1);
	node->gives = now;
	node->knows = known;
	node->counts_shared = share;
	if (pool->ready && answers(pool) != was)
		kinds_changed(state, pool);
}

/* --- reports of runners --------------------------------------------------- */

void state_pool_ready(struct state *state, uint32_t pool, bool ready)
{
	struct pool *it = &state->pools.pool[pool];
	bool changes = it->ready != ready;

	it->ready = ready;
	state->nodes.forget_at = 0;
	if (changes && runner_traits(state->conf->pools[pool].runner)->has_api)
		kinds_changed(state, it);
	if (state_pool_unready(state) < 0)
		nodes_drop_expected(state);
	state->gen++;
	state_replan(state);
}

/* Returns the node that decides whether the job is lost: if this node is gone,
 * so is the job. It is the job's first node or, if the job may lose tasks, its
 * first node that is not gone. */
static const struct node *home_of(const struct state *state,
                                  const struct job *job)
{
	const struct placement *p = job->place;
	const struct node *node = state->nodes.node;
	struct spec spec;
	uint32_t i = 0;

	if (!node[p->task[0].node].gone)
		return &node[p->task[0].node];
	spec_unpack(&spec, job->packed);
	while (spec_loss(&spec).least && i < p->ntasks - 1 &&
	       node[p->task[i].node].gone)
		i++;
	return &node[p->task[i].node];
}

void state_lose_orphans(struct state *state, uint32_t pool, int64_t now)
{
	struct job *next;

	for (struct job *job = state->records.placed; job; job = next) {
		const struct node *node = home_of(state, job);
		struct event_in ev = { .kind = EV_lost,
			               .now = now,
			               .text = "its node is no longer there" };

		next = job->row_next;
		if (node->gone && (node->pool == pool || node->removed))
			state_event(state, job, &ev, NULL);
	}
}

uint32_t state_pool_jobs(const struct state *state, uint32_t pool)
{
	uint32_t n = 0;

	for (const struct job *job = state->records.placed; job;
	     job = job->row_next)
		n += state->nodes.node[job->place->task[0].node].pool == pool;
	return n;
}

bool state_pool_has_trouble(const struct state *state, uint32_t pool)
{
	return state->pools.pool[pool].trouble != NULL;
}

bool state_pool_is_ready(const struct state *state, uint32_t pool)
{
	return state->pools.pool[pool].ready;
}

int state_pool_unready(const struct state *state)
{
	for (uint32_t i = 0; i < state->conf->npools; i++)
		if (!state->pools.pool[i].ready)
			return (int)i;
	return -1;
}

void state_pool_trouble(struct state *state, uint32_t pool, const char *text)
{
	text_set(&state->pools.pool[pool].trouble, text);
}

/* Returns the pools whose runner can run this request, one bit each. */
static uint64_t runner_pools(const struct state *state, const struct spec *spec)
{
	const struct conf *conf = state->conf;
	bool contained = spec->image || spec->mount;
	bool holds = spec->allocation != SPEC_UNSET;
	uint64_t pools = 0;

	for (size_t i = 0; i < conf->npools; i++) {
		const struct runner_traits *can =
		    runner_traits(conf->pools[i].runner);

		if (!conf->pools[i].leaving &&
		    (can->has_images || !contained) &&
		    (can->is_here || !holds) &&
		    pool_aligns(state, (uint32_t)i, spec, NULL))
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
	return pools & runner_pools(state, spec);
}

static void add_to_sum(struct pool_sum *sum, const struct node *node)
{
	int64_t per_cpu;

	sum->total[RES_CPU] += node->cpu_milli;
	sum->total[RES_MEM] += node->mem_mib;
	sum->total[RES_GPU] += 1000 * (int64_t)node->ngpus;
	if (node->cpu_milli < 1)
		return;
	per_cpu = node->mem_mib * 1000 / node->cpu_milli;
	if (per_cpu < sum->mem_per_cpu)
		sum->mem_per_cpu = per_cpu;
}

const struct pool_sum *pool_sums(struct state *state)
{
	if (state->pools.sum_gen == state->gen + 1)
		return state->pools.sum;
	for (size_t i = 0; i < LIMIT_POOLS; i++)
		state->pools.sum[i] =
		    (struct pool_sum){ .mem_per_cpu = INT64_MAX };
	for (size_t i = 0; i < state->nodes.n; i++) {
		const struct node *node = &state->nodes.node[i];

		if (!node->gone)
			add_to_sum(&state->pools.sum[node->pool], node);
	}
	state->pools.sum_gen = state->gen + 1;
	return state->pools.sum;
}

static bool has_kind(const struct pool_table *pools,
                     const struct gpu_kind *kind)
{
	for (size_t i = 0; i < pools->nkinds; i++) {
		const struct gpu_kind *other = &pools->kind[i];

		if (other->pool == kind->pool &&
		    other->mem_mib == kind->mem_mib &&
		    !strcmp(other->type ? other->type : "",
		            kind->type ? kind->type : ""))
			return true;
	}
	return false;
}

static void find_kinds(struct pool_table *pools, const struct node_table *nodes)
{
	pools->nkinds = 0;
	for (size_t i = 0; i < nodes->n; i++) {
		const struct node *node = &nodes->node[i];
		struct gpu_kind kind = { node->pool, node_gpu_mem(node),
			                 node->gpu_type };

		steps_add(1);
		if (node->gone || !node->ngpus || has_kind(pools, &kind))
			continue;
		pools->kind =
		    GROW(pools->kind, pools->nkinds, &pools->kind_cap);
		pools->kind[pools->nkinds++] = kind;
	}
}

const struct gpu_kind *pool_gpu_kinds(struct state *state, size_t *ret_n)
{
	struct pool_table *pools = &state->pools;

	if (pools->kind_gen != state->gen + 1)
		find_kinds(pools, &state->nodes);
	pools->kind_gen = state->gen + 1;
	*ret_n = pools->nkinds;
	return pools->kind;
}

int64_t state_default_mem(struct state *state, uint64_t pools)
{
	const struct pool_sum *sum = pool_sums(state);
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < state->conf->npools; i++) {
		int64_t per_cpu = state->conf->pools[i].default_memory_per_cpu;

		if (per_cpu == CONF_NONE)
			per_cpu = sum[i].mem_per_cpu;
		if (pools >> i & 1 && per_cpu < least)
			least = per_cpu;
	}
	return least == INT64_MAX ? 0 : least;
}
