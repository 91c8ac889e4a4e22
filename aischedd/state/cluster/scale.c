/* scale.c - nodes that are added when jobs need them, and given back when idle
 */
#include "aischedd/state/cluster/scale.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/pass/snap_node.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum { LONGEST_WAIT_S = 3600 };

static struct scale *scale_of(const struct state *state,
                              const struct node *node)
{
	return &state->scales.scale[node->scale - 1];
}

static const struct conf_scale *conf_of(const struct state *state,
                                        const struct node *node)
{
	return &state->conf->scales[node->scale - 1];
}

const struct conf_scale *state_scale_of(const struct state *state, uint32_t n)
{
	const struct node *node = &state->nodes.node[n];

	return node->scale ? conf_of(state, node) : NULL;
}

const char *state_scale_trouble(const struct state *state, uint32_t n)
{
	const struct node *node = &state->nodes.node[n];

	return node->scale ? scale_of(state, node)->trouble : NULL;
}

/* Returns how many seconds a node may take to be added or removed. After that
 * time, adding it has failed, or removing it is tried again. */
static int64_t patience(const struct state *state, const struct node *node)
{
	return 2 * conf_of(state, node)->delay;
}

static void want(struct state *state, struct node *node, enum node_want want,
                 int64_t now)
{
	uint32_t n = (uint32_t)(node - state->nodes.node);

	node->want = want;
	node->want_at = now;
	node->idle_since = NO_TIME;
	node->dirty = state->nodes.dirty = true;
	if (want != WANT_NOTHING)
		state_effect(state,
		             (struct effect){ .kind = want == WANT_ADDED
		                                          ? EFFECT_ADD_NODE
		                                          : EFFECT_REMOVE_NODE,
		                              .node = n });
	state_replan(state);
}

/* --- the table of nodes --------------------------------------------------- */

static const uint8_t none[LIMIT_GPUS];

/* Whether the node can be used now. For a node that is being added, wait for a
 * report with all GPUs: the runner may find them later than the node. Reports
 * without CPUs come from join(): such a node has not been added yet. */
static bool has_arrived(const struct state *state, const struct node *node,
                        const struct node_info *info)
{
	if (info->gone || info->down || !info->cpu_milli)
		return false;
	return node->want != WANT_ADDED ||
	       (!info->cordoned &&
	        info->ngpus >= (uint32_t)conf_of(state, node)->gpus);
}

/* Lower what is expected of a template's nodes to what one of them has, if that
 * is less. number: the number of the template, plus one. */
static void learn(struct state *state, uint32_t number, int64_t cpu_milli,
                  int64_t mem_mib, int64_t tmp_mib)
{
	struct scale *scale = &state->scales.scale[number - 1];

	if (cpu_milli >= scale->cpu_milli && mem_mib >= scale->mem_mib &&
	    tmp_mib >= scale->tmp_mib)
		return;
	if (cpu_milli < scale->cpu_milli)
		scale->cpu_milli = cpu_milli;
	if (mem_mib < scale->mem_mib)
		scale->mem_mib = mem_mib;
	if (tmp_mib < scale->tmp_mib)
		scale->tmp_mib = tmp_mib;
	for (uint32_t n = 0; n < state->nodes.n; n++) {
		struct node *node = &state->nodes.node[n];

		if (node->scale != number || !node->coming)
			continue;
		node->cpu_found = scale->cpu_milli;
		node->mem_found = scale->mem_mib;
		node->tmp_found = scale->tmp_mib;
		node_apply_conf(state, node);
	}
}

static void arrived(struct state *state, struct node *node,
                    const struct node_info *info)
{
	node->coming = false;
	node->idle_since = NO_TIME;
	learn(state, node->scale, info->cpu_milli, info->mem_mib,
	      info->tmp_mib);
	if (node->want != WANT_ADDED)
		return;
	want(state, node, WANT_NOTHING, 0);
	node->unused = true;
}

static void stand_in(const struct state *state, const struct node *node,
                     const struct node_info *seen, struct node_info *ret)
{
	const struct conf_scale *conf = conf_of(state, node);
	const struct scale *scale = scale_of(state, node);

	*ret = (struct node_info){
		.name = node->name,
		.cpu_milli = scale->cpu_milli,
		.mem_mib = scale->mem_mib,
		.tmp_mib = scale->tmp_mib,
		.ngpus = (uint32_t)conf->gpus,
		.gpu_type = conf->gpu_type,
		.gpu_numa = none,
		.gpu_link = none,
		.features = conf->features,
		.topology = conf->topology,
		.gone = seen->gone,
		.down = seen->down,
		.cordoned = seen->cordoned,
		.reason = seen->reason,
	};
}

const struct node_info *scale_see(struct state *state, uint32_t n,
                                  const struct node_info *info,
                                  struct node_info *ret)
{
	struct node *node = &state->nodes.node[n];

	if (!node->scale)
		return info;
	if (has_arrived(state, node, info)) {
		if (node->coming)
			arrived(state, node, info);
		return info;
	}
	/* A node that is gone has been removed. A node that is only down may
	 * still be paid for: wait for state_scale_done(). */
	if (node->want == WANT_REMOVED && info->gone)
		want(state, node, WANT_NOTHING, 0);
	node->coming |= info->gone || node->want != WANT_NOTHING;
	if (!node->coming)
		return info;
	stand_in(state, node, info, ret);
	return ret;
}

void scale_complete(const struct state *state, struct node *node)
{
	const struct conf_scale *conf = conf_of(state, node);

	if (!node->gpu_type && node->ngpus)
		text_set(&node->gpu_type, conf->gpu_type);
	if (!node->topology)
		text_set(&node->topology, conf->topology);
}

static void join(struct state *state, uint32_t number)
{
	const struct conf_scale *conf = &state->conf->scales[number];
	struct scale *scale = &state->scales.scale[number];

	scale->cpu_milli = conf->cpus * 1000;
	scale->mem_mib = conf->memory;
	scale->tmp_mib = conf->tmp;
	for (int64_t i = 1; i <= conf->max; i++) {
		const char *pool = state->conf->pools[conf->pool].name;
		char *full =
		    xasprintf("%s/%s-%lld", pool, conf->name, (long long)i);
		uint32_t n = node_intern(state, full);
		struct node *node = &state->nodes.node[n];

		node->scale = number + 1;
		node_frame_drop(&state->nodes);
		if (!node->gone && !node->coming)
			learn(state, node->scale, node->cpu_found,
			      node->mem_found, node->tmp_found);
		if (node->gone || node->coming) {
			node->coming = true;
			state_node_seen(
			    state, (uint32_t)conf->pool,
			    &(struct node_info){ .name = node->name,
			                         .gone = node->gone,
			                         .down = node->down,
			                         .cordoned = node->cordoned,
			                         .reason = node->seen_reason });
		}
		free(full);
	}
}

static void join_all(struct state *state)
{
	scales_free(&state->scales);
	state->scales.n = state->conf->nscales;
	state->scales.scale =
	    xcalloc(state->scales.n + 1, sizeof(*state->scales.scale));
	for (uint32_t i = 0; i < state->scales.n; i++)
		join(state, i);
}

void state_scale_begin(struct state *state)
{
	join_all(state);
	for (uint32_t n = 0; n < state->nodes.n; n++) {
		struct node *node = &state->nodes.node[n];

		if (node->scale && node->want != WANT_NOTHING)
			want(state, node, node->want, node->want_at);
		else if (node->want != WANT_NOTHING)
			want(state, node, WANT_NOTHING, 0);
	}
}

void scale_load(struct state *state, uint32_t n, enum node_want want,
                int64_t at)
{
	struct node *node = &state->nodes.node[n];

	node->want = want;
	node->want_at = at;
}

void scale_reconf(struct state *state)
{
	bool removed = false;

	for (uint32_t n = 0; n < state->nodes.n; n++)
		state->nodes.node[n].scale = 0;
	join_all(state);
	for (uint32_t n = 0; n < state->nodes.n; n++) {
		struct node *node = &state->nodes.node[n];

		if (node->scale ||
		    (!node->coming && node->want == WANT_NOTHING))
			continue;
		want(state, node, WANT_NOTHING, 0);
		if (node->coming) {
			node->coming = false;
			node->cpu_found = node->mem_found = 0;
			node->tmp_found = 0;
			node->ngpus = 0;
		}
		node->removed |= node->gone && !node->drained;
		removed |= node->removed;
	}
	if (removed)
		nodes_reconf(state, state->conf);
}

void scales_free(struct scale_table *scales)
{
	for (size_t i = 0; i < scales->n; i++)
		free(scales->scale[i].trouble);
	free(scales->scale);
	*scales = (struct scale_table){ 0 };
}

/* --- for snapshots -------------------------------------------------------- */

enum node_coming scale_coming(const struct node *node)
{
	if (!node->coming || node->want == WANT_REMOVED)
		return NODE_HERE;
	return node->want == WANT_ADDED ? NODE_ASKED : NODE_OFF;
}

int64_t scale_ready_at(const struct state *state, const struct node *node,
                       int64_t now)
{
	int64_t delay = conf_of(state, node)->delay;
	int64_t retry = scale_of(state, node)->retry_at;
	int64_t soon = now + delay / 8 + 1;

	if (node->want != WANT_ADDED)
		return (retry > now ? retry : now) + delay;
	return node->want_at + delay > soon ? node->want_at + delay : soon;
}

/* --- asking for nodes, and giving them back ------------------------------- */

static void fail(struct state *state, struct node *node, const char *why,
                 int64_t now)
{
	struct scale *scale = scale_of(state, node);
	int64_t wait = conf_of(state, node)->delay;

	/* Count nodes that fail at the same time as one failure. */
	if (scale->retry_at <= now) {
		for (uint32_t i = 0; i <= scale->fails; i++)
			wait = wait < LONGEST_WAIT_S / 2 ? 2 * wait
			                                 : LONGEST_WAIT_S;
		scale->fails++;
		scale->retry_at = now + wait;
		text_set(&scale->trouble, why);
	}
	want(state, node, WANT_REMOVED, now);
}

void state_scale_started(struct state *state, uint32_t n, int64_t now)
{
	struct node *node = &state->nodes.node[n];

	if (!node->scale || node->want == WANT_NOTHING || node->want_at == now)
		return;
	node->want_at = now;
	node->dirty = state->nodes.dirty = true;
	state_replan(state);
}

void state_scale_done(struct state *state, uint32_t n, bool add,
                      const char *why, int64_t now)
{
	struct node *node = &state->nodes.node[n];

	if (!node->scale || node->want != (add ? WANT_ADDED : WANT_REMOVED))
		return;
	if (add && why) {
		fail(state, node, why, now);
		return;
	}
	if (!add)
		text_set(&node->avoid_reason, why);
	if (!add && !why && node->coming && state->pools.ready[node->pool])
		want(state, node, WANT_NOTHING, now);
}

static void lower(int64_t *wake, int64_t at)
{
	if (*wake == NO_TIME || at < *wake)
		*wake = at;
}

/* A node is idle, kept for a claim, a promise or a reservation, or used by
 * tasks. */
enum { IDLE, KEPT, USED };

static void mark(uint8_t *busy, const uint32_t *node, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!busy[node[i]])
			busy[node[i]] = KEPT;
}

static void mark_tasks(uint8_t *busy, const struct snap_task *task, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		busy[task[i].node] = USED;
}

/* Mark the nodes that jobs use, or will use by this plan, and those in
 * reservations. */
static void find_busy(const struct snap *s, const struct plan *plan,
                      uint8_t *busy)
{
	if (s->run.n)
		mark_tasks(busy, s->task, s->run.task_first[s->run.n]);
	for (uint32_t i = 0; i < plan->nstarts; i++)
		mark_tasks(busy, plan->task + plan->start[i].task_first,
		           plan->start[i].ntasks);
	for (uint32_t i = 0; i < plan->ngrows; i++)
		mark_tasks(busy, plan->task + plan->grow[i].task_first,
		           plan->grow[i].ntasks);
	for (uint32_t i = 0; i < plan->nclaims; i++)
		mark(busy, plan->claim_node + plan->claim[i].node_first,
		     plan->claim[i].n);
	for (uint32_t i = 0; i < plan->npromises; i++)
		mark(busy, plan->promise_node + plan->promise[i].node_first,
		     plan->promise[i].n);
	if (s->resv.n)
		mark(busy, s->resv_node, s->resv.node_first[s->resv.n]);
}

/* Note that a job uses the node. */
static void use(struct state *state, struct node *node)
{
	struct scale *scale = scale_of(state, node);

	if (!node->unused)
		return;
	node->unused = false;
	scale->fails = 0;
	text_set(&scale->trouble, NULL);
}

/* Give back a node that has been idle for long enough. If no job has used the
 * node since it was added, but some jobs wait, count this as a failed try to
 * add nodes: the nodes of this template may be smaller than expected. */
static void look_at_idle(struct state *state, struct node *node, uint8_t busy,
                         bool any_waits, int64_t now, int64_t *wake)
{
	int64_t idle_for = conf_of(state, node)->idle_for;
	struct buf why = { 0 };

	if (busy == USED)
		use(state, node);
	if (busy) {
		node->idle_since = NO_TIME;
		return;
	}
	if (node->idle_since == NO_TIME || node->idle_since > now)
		node->idle_since = now;
	if (now - node->idle_since < idle_for) {
		lower(wake, node->idle_since + idle_for);
	} else if (node->unused && any_waits) {
		buf_printf(&why, "no job could use %s", node->name);
		fail(state, node, why.data, now);
		buf_free(&why);
	} else {
		want(state, node, WANT_REMOVED, now);
	}
}

/* Look at a node that is being added or removed. */
static void look_at_wanted(struct state *state, struct node *node, int64_t now,
                           int64_t *wake)
{
	int64_t delay = conf_of(state, node)->delay;
	int64_t late = node->want_at + patience(state, node);
	struct buf why = { 0 };

	if (node->want_at > now)
		node->want_at = now; /* the clock was set back */
	if (now < late) {
		lower(wake, late);
		/* Have a new plan made when the node is late, and again from
		 * time to time: starts that are promised on it must move. */
		if (node->want == WANT_ADDED)
			lower(wake, now < node->want_at + delay
			                ? node->want_at + delay
			                : now + delay / 8 + 1);
		return;
	}
	if (node->want == WANT_REMOVED) {
		want(state, node, WANT_REMOVED, now);
		return;
	}
	buf_printf(&why, "%s was not ready within %lld s", node->name,
	           (long long)patience(state, node));
	fail(state, node, why.data, now);
	buf_free(&why);
}

void scale_use_plan(struct state *state, const struct snap *snap,
                    const struct plan *plan, int64_t now, int64_t *wake)
{
	uint8_t *busy;

	if (!state->scales.n)
		return;
	for (uint32_t i = 0; i < plan->nasked; i++) {
		struct node *node = &state->nodes.node[plan->asked[i]];

		if (scale_coming(node) == NODE_OFF &&
		    scale_of(state, node)->retry_at <= now)
			want(state, node, WANT_ADDED, now);
	}
	busy = xcalloc(snap->node.n + 1, 1);
	find_busy(snap, plan, busy);
	for (uint32_t n = 0; n < snap->node.n; n++) {
		struct node *node = &state->nodes.node[n];

		if (!node->scale || !state->pools.ready[node->pool])
			continue;
		if (node->want != WANT_NOTHING)
			look_at_wanted(state, node, now, wake);
		else if (!node->coming)
			look_at_idle(state, node, busy[n], snap->pend.n > 0,
			             now, wake);
	}
	for (size_t i = 0; i < state->scales.n; i++)
		if (state->scales.scale[i].retry_at > now)
			lower(wake, state->scales.scale[i].retry_at);
	free(busy);
}
