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

/* Whether an autoscaler adds and removes the nodes of the template. */
static bool is_autoscaled(const struct state *state,
                          const struct conf_scale *conf)
{
	return conf->by != SCALE_PROGRAM && !state->scales.simulated &&
	       runner_traits(state->conf->pools[conf->pool].runner)->runs;
}

static void want(struct state *state, struct node *node, enum node_want want,
                 int64_t now)
{
	uint32_t n = (uint32_t)(node - state->nodes.node);

	if (node->scale)
		scale_of(state, node)->asked +=
		    (uint32_t)(want == WANT_ADDED) -
		    (uint32_t)(node->want == WANT_ADDED);
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
	node_frame_drop(&state->nodes);
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
		.taints = conf->taints,
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
	node->coming |=
	    !node->absent && (info->gone || node->want != WANT_NOTHING);
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

/* Have a node of a template that is not there, or not ready, count as one that
 * can be added. */
static void put_back(struct state *state, uint32_t n)
{
	const struct node *node = &state->nodes.node[n];

	state->nodes.node[n].coming = true;
	state_node_seen(state, node->pool,
	                &(struct node_info){ .name = node->name,
	                                     .gone = node->gone,
	                                     .down = node->down,
	                                     .cordoned = node->cordoned,
	                                     .reason = node->seen_reason });
}

static void join(struct state *state, uint32_t number)
{
	const struct conf_scale *conf = &state->conf->scales[number];
	struct scale *scale = &state->scales.scale[number];

	scale->cpu_milli = conf->cpus * 1000;
	scale->mem_mib = conf->memory;
	scale->tmp_mib = conf->tmp;
	scale->place = xcalloc((size_t)conf->max, sizeof(*scale->place));
	for (int64_t i = 1; i <= conf->max; i++) {
		const char *pool = state->conf->pools[conf->pool].name;
		char *full =
		    xasprintf("%s/%s-%lld", pool, conf->name, (long long)i);
		uint32_t n = node_intern(state, full);
		struct node *node = &state->nodes.node[n];

		node->scale = number + 1;
		node->absent = false;
		scale->place[scale->places++] = n;
		/* an earlier configuration wanted a program to remove it */
		if (node->want == WANT_REMOVED && is_autoscaled(state, conf))
			want(state, node, WANT_NOTHING, 0);
		scale->asked += node->want == WANT_ADDED;
		node_frame_drop(&state->nodes);
		if (!node->gone && !node->coming)
			learn(state, node->scale, node->cpu_found,
			      node->mem_found, node->tmp_found);
		if (node->gone || node->coming)
			put_back(state, n);
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
	state->scales.joining = true;
	for (uint32_t n = 0; n < state->nodes.n; n++) {
		state->nodes.node[n].member = 0;
		scale_match(state, n);
	}
	state->scales.joining = false;
}

void state_scale_simulate(struct state *state)
{
	state->scales.simulated = true;
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

	for (uint32_t n = 0; n < state->nodes.n; n++) {
		struct node *node = &state->nodes.node[n];

		node->coming |= node->scale && node->absent;
		node->scale = 0;
	}
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
	for (size_t i = 0; i < scales->n; i++) {
		free(scales->scale[i].trouble);
		free(scales->scale[i].lost);
		free(scales->scale[i].place);
	}
	free(scales->scale);
	*scales = (struct scale_table){ .simulated = scales->simulated };
}

/* --- nodes that an autoscaler adds ---------------------------------------- */

static bool has_word(const struct strlist *list, const char *word)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->s[i], word))
			return true;
	return false;
}

static bool is_of(const struct state *state, const struct node *node,
                  const struct conf_scale *conf)
{
	if (!is_autoscaled(state, conf) || (uint32_t)conf->pool != node->pool ||
	    node->ngpus < (uint32_t)conf->gpus)
		return false;
	for (size_t i = 0; i < conf->labels.n; i++)
		if (!has_word(&node->features, conf->labels.s[i]))
			return false;
	return true;
}

/* Returns the number plus one of the template of which the node is a member; 0:
 * none. A member remains one until it is gone, even if it is down. */
static uint32_t member_of(const struct state *state, const struct node *node)
{
	if (node->gone || node->member)
		return node->gone ? 0 : node->member;
	for (uint32_t i = 0; i < state->scales.n && !node->down; i++)
		if (!node->cordoned &&
		    is_of(state, node, &state->conf->scales[i]))
			return i + 1;
	return 0;
}

/* Returns the first place of the template that is free, and, if asked is set,
 * for which a node was asked; -1: there is none. */
static int free_place(const struct state *state, const struct scale *scale,
                      bool asked)
{
	for (uint32_t i = 0; i < scale->places; i++) {
		const struct node *node = &state->nodes.node[scale->place[i]];

		if (node->coming && (node->want == WANT_ADDED) == asked)
			return (int)i;
	}
	return -1;
}

/* Let the new member take a place. If that was asked for, the node is the one
 * that was asked for; but not those that are seen again at the start. */
static void take_place(struct state *state, struct node *member)
{
	struct scale *scale = &state->scales.scale[member->member - 1];
	bool asked =
	    state->pools.pool[member->pool].ready && !state->scales.joining;
	int i = asked ? free_place(state, scale, true) : -1;
	struct node *place;

	member->unused = i >= 0;
	member->idle_since = NO_TIME;
	scale->members++;
	learn(state, member->member, member->cpu_found, member->mem_found,
	      member->tmp_found);
	if (i < 0)
		i = free_place(state, scale, false);
	if (i < 0)
		return;
	place = &state->nodes.node[scale->place[i]];
	place->absent = true;
	place->coming = false;
	node_frame_drop(&state->nodes);
	want(state, place, WANT_NOTHING, 0);
}

/* Note that a member is gone: its place can be asked for again. */
static void leave_place(struct state *state, uint32_t number)
{
	struct scale *scale = &state->scales.scale[number - 1];
	uint32_t i = scale->places, taken = 0;

	scale->members--;
	for (uint32_t k = 0; k < scale->places; k++)
		taken += state->nodes.node[scale->place[k]].absent;
	if (taken <= scale->members)
		return;
	while (!state->nodes.node[scale->place[--i]].absent)
		;
	state->nodes.node[scale->place[i]].absent = false;
	put_back(state, scale->place[i]);
}

void scale_match(struct state *state, uint32_t n)
{
	struct node *node = &state->nodes.node[n];
	uint32_t was = node->member, is;

	if (node->scale || node->removed)
		return;
	is = member_of(state, node);
	if (is == was)
		return;
	node->member = is;
	node->absent = !is;
	node_frame_drop(&state->nodes);
	if (is) {
		take_place(state, node);
		return;
	}
	if (node->unused)
		text_set(&state->scales.scale[was - 1].lost, node->name);
	leave_place(state, was);
}

const struct strlist *scale_words(const struct state *state,
                                  const struct node *node)
{
	static const struct strlist no_words;
	uint32_t number = node->scale ? node->scale : node->member;
	const struct conf_scale *conf;

	if (!number)
		return &no_words;
	conf = &state->conf->scales[number - 1];
	return node->coming ? &conf->labels : &conf->features;
}

bool state_scale_standins(const struct state *state, size_t number,
                          struct run_standin *ret)
{
	const struct scale *scale = &state->scales.scale[number];
	const struct conf_scale *conf = &state->conf->scales[number];

	*ret = (struct run_standin){ .conf = conf,
		                     .cpu_milli = scale->cpu_milli,
		                     .mem_mib = scale->mem_mib,
		                     .tmp_mib = scale->tmp_mib,
		                     .n = scale->asked,
		                     .there = scale->members };
	return is_autoscaled(state, conf);
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

/* Add no nodes of the template for a while. Nodes that fail at the same time
 * count as one failure. */
static void back_off(struct state *state, uint32_t number, const char *why,
                     int64_t now)
{
	struct scale *scale = &state->scales.scale[number - 1];
	int64_t wait = state->conf->scales[number - 1].delay;

	if (scale->retry_at > now)
		return;
	for (uint32_t i = 0; i <= scale->fails; i++)
		wait = wait < LONGEST_WAIT_S / 2 ? 2 * wait : LONGEST_WAIT_S;
	scale->fails++;
	scale->retry_at = now + wait;
	text_set(&scale->trouble, why);
}

static void fail(struct state *state, struct node *node, const char *why,
                 int64_t now)
{
	back_off(state, node->scale, why, now);
	want(state, node,
	     is_autoscaled(state, conf_of(state, node)) ? WANT_NOTHING
	                                                : WANT_REMOVED,
	     now);
}

void state_scale_refused(struct state *state, const char *name, const char *why,
                         int64_t now)
{
	size_t i = 0;

	while (i < state->scales.n && strcmp(state->conf->scales[i].name, name))
		i++;
	for (uint32_t k = 0;
	     i < state->scales.n && k < state->scales.scale[i].places; k++) {
		struct node *node =
		    &state->nodes.node[state->scales.scale[i].place[k]];

		if (node->want == WANT_ADDED)
			fail(state, node, why, now);
	}
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
	if (!add && !why && node->coming && state->pools.pool[node->pool].ready)
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
	uint32_t number = node->scale ? node->scale : node->member;
	struct scale *scale = &state->scales.scale[number - 1];

	if (!node->unused)
		return;
	node->unused = false;
	scale->fails = 0;
	text_set(&scale->trouble, NULL);
}

/* Note since when the idle node has been idle. Returns whether that is long;
 * if not, lowers *wake to the time at which it will be. */
static bool is_idle_long(struct node *node, int64_t idle_for, int64_t now,
                         int64_t *wake)
{
	if (node->idle_since == NO_TIME || node->idle_since > now)
		node->idle_since = now;
	if (now - node->idle_since >= idle_for)
		return true;
	lower(wake, node->idle_since + idle_for);
	return false;
}

/* Give back a node that has been idle for long enough. If no job has used the
 * node since it was added, but some jobs wait, count this as a failed try to
 * add nodes: the nodes of this template may be smaller than expected. */
static void look_at_idle(struct state *state, struct node *node, uint8_t busy,
                         bool any_waits, int64_t now, int64_t *wake)
{
	struct buf why = { 0 };

	if (busy == USED)
		use(state, node);
	if (busy) {
		node->idle_since = NO_TIME;
		return;
	}
	if (!is_idle_long(node, conf_of(state, node)->idle_for, now, wake))
		return;
	if (node->unused && any_waits) {
		buf_printf(&why, "no job could use %s", node->name);
		fail(state, node, why.data, now);
		buf_free(&why);
	} else {
		want(state, node, WANT_REMOVED, now);
	}
}

/* Look at a node that an autoscaler has added and removes. If it is idle for
 * long although it was asked for and jobs wait, count this as a failure, too.
 */
static void look_at_member(struct state *state, struct node *node, uint8_t busy,
                           bool any_waits, int64_t now, int64_t *wake)
{
	int64_t idle_for = state->conf->scales[node->member - 1].idle_for;
	struct buf why = { 0 };

	if (busy == USED)
		use(state, node);
	if (busy || !node->unused) {
		node->idle_since = NO_TIME;
		return;
	}
	if (!is_idle_long(node, idle_for, now, wake))
		return;
	node->unused = false;
	if (!any_waits)
		return;
	buf_printf(&why, "no job could use %s", node->name);
	back_off(state, node->member, why.data, now);
	buf_free(&why);
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

static void look_at_scale(struct state *state, uint32_t number, bool any_waits,
                          int64_t now, int64_t *wake)
{
	struct scale *scale = &state->scales.scale[number];
	struct buf why = { 0 };

	if (scale->lost && any_waits) {
		buf_printf(&why, "%s was removed before a job used it",
		           scale->lost);
		back_off(state, number + 1, why.data, now);
		buf_free(&why);
	}
	text_set(&scale->lost, NULL);
	if (scale->retry_at > now)
		lower(wake, scale->retry_at);
}

/* Whether the stand-in of a node is no longer needed. A partial plan does not
 * show that. */
static bool is_unneeded(const struct state *state, const struct node *node,
                        uint8_t busy, const struct plan *plan)
{
	return node->want == WANT_ADDED && !busy && !plan->partial &&
	       is_autoscaled(state, conf_of(state, node));
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

		if ((!node->scale && !node->member) ||
		    !state->pools.pool[node->pool].ready)
			continue;
		if (node->member)
			look_at_member(state, node, busy[n], snap->pend.n > 0,
			               now, wake);
		else if (is_unneeded(state, node, busy[n], plan))
			want(state, node, WANT_NOTHING, now);
		else if (node->want != WANT_NOTHING)
			look_at_wanted(state, node, now, wake);
		else if (!node->coming &&
		         !is_autoscaled(state, conf_of(state, node)))
			look_at_idle(state, node, busy[n], snap->pend.n > 0,
			             now, wake);
	}
	for (uint32_t i = 0; i < state->scales.n; i++)
		look_at_scale(state, i, snap->pend.n > 0, now, wake);
	free(busy);
}
