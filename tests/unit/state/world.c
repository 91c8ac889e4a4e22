/* world.c - a state with nodes and a clock, for tests */
#include "tests/unit/state/world.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/check/plan_check.h"
#include "aischedd/sched/text/text.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/split.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/life/update.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/snap_job.h"
#include "aischedd/state/pass/snap_node.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/pass/why.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/parse.h"
#include "libcommon/spec/spec_opt.h"
#include "tests/unit/check.h"

enum { START = 1000, UID = 1234 };

/* --- the history ------------------------------------------------------- */

static bool is_meant(const struct over *o, uint64_t job, uint32_t task)
{
	if (task == NO_TASK)
		return o->id == job || o->array == job;
	return o->array == job &&
	       (o->task == task || idset_has(&o->tasks, task));
}

/* Set *ret to how a job or task ended, as the store does. If several tasks
 * match, *ret is the worst of their states. Returns -1 if none matches. */
static int load_past(uint64_t job, uint32_t task, struct past *ret, void *arg)
{
	const struct world *w = arg;
	int result = -1;

	for (size_t i = 0; i < w->nover; i++) {
		const struct over *o = &w->over[i];

		if (!is_meant(o, job, task) ||
		    (result == 0 && o->past.state < ret->state))
			continue;
		*ret = o->past;
		result = 0;
	}
	return result;
}

static void remember(struct world *w, const struct job *job)
{
	struct over *o;

	w->over = GROW(w->over, w->nover, &w->over_cap);
	o = &w->over[w->nover++];
	*o = (struct over){
		.id = job->id,
		.array = job->array,
		.task = job->task,
		.past = { (enum job_state)job->state, job->uid,
		          job->runs->start },
	};
	idset_copy(&o->tasks, &job->tasks);
}

void world_commit(struct world *w)
{
	struct changes changes;

	state_changes(w->state, &changes);
	for (size_t i = 0; i < changes.njobs; i++)
		if (job_state_is_final((enum job_state)changes.job[i]->state))
			remember(w, changes.job[i]);
	state_committed(w->state);
	world_check(w);
}

/* --- set up ------------------------------------------------------------ */

struct conf *world_conf(const char *text)
{
	struct buf warnings = { 0 };
	struct err err;
	struct conf *conf = conf_parse(text, "conf", &warnings, &err);

	ck_assert_msg(conf, "%s", err.text);
	buf_free(&warnings);
	return conf;
}

static bool in_no_group(const char *group, const void *arg)
{
	(void)group;
	(void)arg;
	return false;
}

void world_init(struct world *w, const char *conf)
{
	world_init_past(w, conf, load_past, w);
}

void world_init_past(struct world *w, const char *conf, past_fn *past,
                     void *arg)
{
	*w = (struct world){ .now = START };
	w->conf = world_conf(conf ? conf : WORLD_CONF);
	w->arena = arena_new();
	w->who = (struct submitter){
		.uid = UID, .gid = UID, .user = "ada", .in_group = in_no_group
	};
	w->state = state_new(w->conf, past, arg);
}

void world_fini(struct world *w)
{
	state_free(w->state);
	conf_free(w->conf);
	conf_free(w->old_conf);
	for (size_t i = 0; i < w->nover; i++)
		idset_free(&w->over[i].tasks);
	free(w->over);
	arena_free(w->looked);
	arena_free(w->arena);
	buf_free(&w->text);
}

void world_node(struct world *w, const char *name, uint32_t cpus,
                int64_t mem_mib, uint32_t gpus)
{
	uint8_t *zero = xcalloc(cpus + gpus + 1, 1);
	uint16_t *core = xcalloc(cpus + 1, sizeof(*core));
	const char *slash = strchr(name, '/');
	char *pool = xstrndup(name, slash ? (size_t)(slash - name) : 0);
	int p = slash ? conf_pool_find(w->conf, pool) : 0;
	struct node_info info = {
		.name = slash ? slash + 1 : name,
		.ncpus = cpus,
		.cpu_numa = zero,
		.cpu_core = core,
		.cpu_milli = (int64_t)cpus * 1000,
		.mem_mib = mem_mib,
		.ngpus = gpus,
		.gpu_type = gpus ? "h100" : NULL,
		.gpu_numa = zero,
		.gpu_link = zero,
	};

	for (uint32_t i = 0; i < cpus; i++)
		core[i] = (uint16_t)i;
	ck_assert_int_ge(p, 0);
	state_node_seen(w->state, (uint32_t)p, &info);
	state_pool_ready(w->state, (uint32_t)p, true);
	free(zero);
	free(core);
	free(pool);
}

void world_with_node(struct world *w, const char *conf)
{
	world_init(w, conf);
	world_node(w, "n0", 4, 4000, 2);
}

/* --- submissions ------------------------------------------------------- */

struct spec world_spec(struct world *w, const char *options)
{
	struct submit submit;

	submit_init(&submit, w->arena, NULL, w->now);
	submit.spec.name = "job";
	submit.spec.output = "out";
	submit.spec.workdir = "/";
	for (const char *s = options; *s;) {
		size_t len = strcspn(s, " "), name = strcspn(s, "= ");
		char *key = xstrndup(s, name);
		char *value = s[name] == '='
		                  ? xstrndup(s + name + 1, len - name - 1)
		                  : NULL;
		struct err err;

		ck_assert_msg(opt_apply(spec_opts, &submit, key, value, &err) ==
		                  0,
		              "%s: %s", options, err.text);
		free(key);
		free(value);
		s += len + (s[len] == ' ');
	}
	return submit.spec;
}

uint64_t world_submit(struct world *w, const char *options)
{
	struct spec spec = world_spec(w, options);
	uint64_t ahead = 0, id;
	uint32_t queue;

	if (state_check_submit(w->state, &spec, &w->who, w->now, &ahead, &queue,
	                       &w->err) < 0)
		return 0;
	id = state_take_ids(w->state, 1);
	state_submit(w->state, &spec, &w->who, queue, 1, 2, id, w->now);
	world_check(w);
	return id;
}

/* --- passes and events ------------------------------------------------- */

/* Run a pass with the functions that the daemon calls, in the same order. Apply
 * the plan in small parts. */
void world_plan(struct world *w)
{
	struct arena *arena = arena_new();
	struct apply *apply;
	struct build *taken = state_take_snapshot(w->state, w->now, arena);
	const struct snap *snap = snapshot_finish(taken);
	const struct queue_found *found;
	const struct plan *plan;
	struct err err;

	ck_assert_msg(snap_check(snap, &err) == 0, "%s", err.text);
	plan = sched_plan(snap, arena);
	ck_assert_msg(plan_check(snap, plan, &err) == 0, "%s", err.text);
	found = snapshot_read_plan(taken, plan, arena);
	state_end_snapshot(w->state, taken);
	apply = apply_begin(w->state, snap, plan, found, arena);
	while (!apply_part(apply, 2, w->now))
		world_check(w);
	apply_free(apply);
	arena_free(arena);
	world_check(w);
}

void world_run(struct world *w)
{
	struct job *job;

	world_plan(w);
	for (job = state_first_job(w->state); job; job = job->all_next)
		if (job->state == JOB_CONFIGURING)
			ck_assert_int_eq(world_event(w, job->id, EV_started),
			                 0);
}

int world_event(struct world *w, uint64_t id, enum event_kind kind)
{
	static const struct outcome fine = { .start = START,
		                             .peak_mem_kib = SPEC_UNSET };
	struct outcome outcome = fine;
	struct event_in ev = { .kind = kind,
		               .now = w->now,
		               .time = w->now,
		               .signal = { .signo = 10, .step = -1 },
		               .text = "cannot fork",
		               .outcome = &outcome };
	struct job *job = state_job(w->state, id);
	int result;

	ck_assert_msg(job, "there is no job %llu", (unsigned long long)id);
	outcome.end = w->now;
	ev.by_operator = ev.by_other = w->who.operator_;
	result = state_event(w->state, job, &ev, &w->err);
	world_check(w);
	return result;
}

void world_end(struct world *w, uint64_t id, int exit_code)
{
	const struct outcome outcome = { .exit_code = exit_code,
		                         .start = w->now,
		                         .end = w->now,
		                         .peak_mem_kib = SPEC_UNSET };
	const struct event_in ev = { .kind = EV_ended,
		                     .now = w->now,
		                     .outcome = &outcome };

	state_event(w->state, state_job(w->state, id), &ev, NULL);
	world_check(w);
}

void world_tick(struct world *w, int64_t seconds)
{
	w->now += seconds;
	state_tick(w->state, w->now);
	world_check(w);
}

/* Split these tasks off a pending array as a job record of their own. */
static struct job *split(struct world *w, uint64_t array, const char *tasks)
{
	struct idset set;
	struct job *job = NULL;

	ck_assert_int_eq(idset_parse(&set, NULL, tasks, NULL), 0);
	for (job = state_first_job(w->state); job; job = job->all_next)
		if (job->array == array && job->tasks.n &&
		    idset_has(&job->tasks, idset_min(&set)))
			break;
	ck_assert_msg(job, "no record has task %u", idset_min(&set));
	job = state_split(w->state, job, &set, w->now);
	idset_free(&set);
	world_check(w);
	return job;
}

size_t world_alarms(const struct world *w)
{
	return w->state->alarms.n;
}

/* --- results as text ------------------------------------------------------ */

static const char *done(struct world *w)
{
	buf_addc(&w->text, '\0');
	return w->text.data;
}

const char *world_jobs(struct world *w)
{
	const struct job *job = state_first_job(w->state);
	int64_t expected;
	uint32_t position;

	buf_clear(&w->text);
	for (; job; job = job->all_next) {
		const struct array *array = state_array(w->state, job->array);
		enum reason why = state_why(w->state, job, w->now, NULL,
		                            &expected, &position);

		buf_puts(&w->text, w->text.len ? ", " : "");
		job_display_id(job, array ? array->limit : 0, &w->text);
		buf_printf(&w->text, " %s",
		           job_state_letter((enum job_state)job->state));
		if (why != WHY_None)
			buf_printf(&w->text, " %s", reason_name(why));
	}
	return done(w);
}

const char *world_effects(struct world *w)
{
	static const char *const names[] = {
		[EFFECT_START] = "start",     [EFFECT_STOP] = "stop",
		[EFFECT_SIGNAL] = "signal",   [EFFECT_SUSPEND] = "suspend",
		[EFFECT_RESUME] = "continue", [EFFECT_RESIZE] = "resize",
		[EFFECT_FORGET] = "forget",   [EFFECT_ADOPT] = "adopt",
		[EFFECT_PORTS] = "ports",     [EFFECT_DRAIN] = "drain",
		[EFFECT_ADD_NODE] = "add",    [EFFECT_REMOVE_NODE] = "remove",
	};
	const struct effect *effect;
	const struct job *job;
	size_t n = state_take_effects(w->state, &effect);

	buf_clear(&w->text);
	for (size_t i = 0; i < n; i++) {
		if (effect[i].kind == EFFECT_ADD_NODE ||
		    effect[i].kind == EFFECT_REMOVE_NODE) {
			buf_printf(&w->text, "%s%s %s", i ? ", " : "",
			           names[effect[i].kind],
			           state_node(w->state, effect[i].node)->name);
			continue;
		}
		buf_printf(&w->text, "%s%s %llu.%u", i ? ", " : "",
		           names[effect[i].kind],
		           (unsigned long long)effect[i].job,
		           effect[i].attempt);
		if (effect[i].kind == EFFECT_SIGNAL)
			buf_printf(
			    &w->text, " %d%s", effect[i].signal.signo,
			    effect[i].signal.scope == SIGNAL_script  ? " script"
			    : effect[i].signal.scope == SIGNAL_steps ? " steps"
								     : "");
		job = state_job(w->state, effect[i].job);
		if (effect[i].kind == EFFECT_STOP && job &&
		    effect[i].grace != job->grace)
			buf_printf(&w->text, " grace=%d", (int)effect[i].grace);
	}
	return done(w);
}

const char *world_why(struct world *w, uint64_t id)
{
	struct buf text = { 0 };
	int64_t expected;
	uint32_t position;
	enum reason why = state_why(w->state, state_job(w->state, id), w->now,
	                            &text, &expected, &position);

	buf_clear(&w->text);
	buf_printf(&w->text, "%s: %s", reason_name(why),
	           text.data ? text.data : "");
	buf_free(&text);
	return done(w);
}

/* Returns the job's position, and its expected start in seconds if it is known:
 * "2 at 600". */
static const char *turn(struct world *w, const struct job *job)
{
	int64_t expected;
	uint32_t position;

	state_why(w->state, job, w->now, NULL, &expected, &position);
	buf_clear(&w->text);
	buf_printf(&w->text, "%u", position);
	if (expected != NO_TIME)
		buf_printf(&w->text, " at %lld",
		           (long long)(expected - w->now));
	return done(w);
}

/* --- steps ------------------------------------------------------------- */

static const char *const event_names[] = {
#define X(sym) #sym,
	EVENTS(X)
#undef X
};

const char *world_event_name(enum event_kind kind)
{
	return event_names[kind];
}

static const char *refused(struct world *w)
{
	buf_clear(&w->text);
	buf_printf(&w->text, "! %s", w->err.text);
	return done(w);
}

static const char *play_event(struct world *w, const char *verb, uint64_t id)
{
	for (int e = 0; e < EV_N; e++) {
		if (strcmp(event_names[e], verb))
			continue;
		return world_event(w, id, (enum event_kind)e) < 0 ? refused(w)
		                                                  : "";
	}
	ck_abort_msg("there is no step '%s'", verb);
}

static const char *play_update(struct world *w, uint64_t id, char *change)
{
	struct assignment set[4];
	size_t n = 0;
	int result;

	for (char *next = change; change; change = next) {
		char *value = strchr(change, '=');

		next = strchr(change, ';');
		if (next)
			*next++ = '\0';
		ck_assert(value && n < ARRAY_SIZE(set));
		*value++ = '\0';
		set[n++] = (struct assignment){ change, value };
	}
	result = state_update(w->state, state_job(w->state, id), &w->who, set,
	                      n, w->now, &w->err);
	world_check(w);
	return result < 0 ? refused(w) : "";
}

static const char *play_depend(struct world *w, uint64_t id)
{
	buf_clear(&w->text);
	dependency_format(state_job(w->state, id)->deps, &w->text);
	return done(w);
}

static const char *play_comment(struct world *w, uint64_t id)
{
	struct spec spec;

	spec_unpack(&spec, state_job(w->state, id)->packed);
	return spec.comment ? spec.comment : "";
}

static const char *play_node(struct world *w, const char *verb,
                             const char *name, const char *rest)
{
	int node = state_node_find(w->state, name);

	if (!strcmp(verb, "node")) {
		world_node(w, name, (uint32_t)strtoul(rest, NULL, 10), 4000, 0);
		return "";
	}
	ck_assert_int_ge(node, 0);
	if (!strcmp(verb, "gone")) {
		state_node_seen(
		    w->state, state_node(w->state, (uint32_t)node)->pool,
		    &(struct node_info){ .name = strchr(name, '/') + 1,
		                         .gone = true });
		return "";
	}
	for (; node >= 0; node = state_node_next(w->state, name, node))
		if (state_drain(w->state, (uint32_t)node,
		                !strcmp(verb, "drain"), rest, &w->err) < 0)
			return refused(w);
	return "";
}

static const char *play_queue(struct world *w, const char *name, bool open)
{
	int queue = conf_queue_find(w->conf, name);

	ck_assert_int_ge(queue, 0);
	state_queue_set_open(w->state, (uint32_t)queue, open, w->now);
	world_check(w);
	return "";
}

/* Run the step "reserve NAME START END NODES|COUNT USERS [daily|weekly]"; times
 * are in seconds from now on. */
static const char *play_reserve(struct world *w, const char *name, char *rest)
{
	char *word[5] = { NULL };
	struct reserve_ask ask = { .name = name };

	for (size_t i = 0; i < ARRAY_SIZE(word) && rest; i++)
		word[i] = strsep(&rest, " ");
	ck_assert_ptr_nonnull(word[3]);
	ask.start = w->now + strtoll(word[0], NULL, 10);
	ask.end = w->now + strtoll(word[1], NULL, 10);
	ask.count = (uint32_t)strtoul(word[2], NULL, 10);
	ask.nodes = ask.count ? NULL : word[2];
	ask.users = strcmp(word[3], "-") ? word[3] : "";
	if (word[4])
		ask.repeat = (enum repeat)repeat_parse(word[4]);
	return state_reserve(w->state, &ask, w->now, &w->err) < 0 ? refused(w)
	                                                          : "";
}

static const char *reservations(struct world *w)
{
	buf_clear(&w->text);
	for (size_t i = 0; i < state_nreservations(w->state); i++) {
		const struct reservation *r = state_reservation(w->state, i);

		buf_printf(&w->text, "%s%s %lld-%lld ", i ? "; " : "", r->name,
		           (long long)(r->start - w->now),
		           (long long)(r->end - w->now));
		state_reservation_nodes(w->state, r, false, &w->text);
		buf_printf(&w->text, " %s+%s", r->users, r->guests);
	}
	return done(w);
}

static const char *next_tick(struct world *w)
{
	buf_clear(&w->text);
	buf_i64(&w->text, state_next_tick(w->state) - w->now);
	return done(w);
}

static void forget_past(struct world *w)
{
	while (w->nover)
		idset_free(&w->over[--w->nover].tasks);
}

/* Run a step: a verb, its object and the rest of the line. Returns its result
 * as text. */
static const char *play(struct world *w, const char *verb, const char *object,
                        char *rest)
{
	uint64_t id = *object ? strtoull(object, NULL, 10) : 1;
	struct job *job = state_job(w->state, id);

	if (*verb == '+')
		return world_tick(w, strtoll(verb + 1, NULL, 10)), "";
	if (!strcmp(verb, "leap")) {
		int64_t by = strtoll(object, NULL, 10);

		w->now += by;
		state_clock_set(w->state, by * 1000, w->now * 1000);
		return "";
	}
	if (!strcmp(verb, "plan"))
		return world_plan(w), "";
	if (!strcmp(verb, "run"))
		return world_run(w), "";
	if (!strcmp(verb, "commit"))
		return world_commit(w), "";
	if (!strcmp(verb, "forget"))
		return forget_past(w), "";
	if (!strcmp(verb, "look"))
		return world_look(w), "";
	if (!strcmp(verb, "budget"))
		return w->state->round.budget = (int64_t)id, "";
	if (!strcmp(verb, "wants"))
		return state_wants_plan(w->state) ? "yes" : "no";
	if (!strcmp(verb, "operator") || !strcmp(verb, "user"))
		return w->who.operator_ = *verb == 'o', "";
	if (!strcmp(verb, "tell"))
		return world_effects(w), "";
	if (!strcmp(verb, "next"))
		return next_tick(w);
	if (!strcmp(verb, "jobs"))
		return world_jobs(w);
	if (!strcmp(verb, "effects"))
		return world_effects(w);
	if (!strcmp(verb, "open") || !strcmp(verb, "close"))
		return play_queue(w, object, *verb == 'o');
	if (!strcmp(verb, "node") || !strcmp(verb, "gone") ||
	    !strcmp(verb, "drain") || !strcmp(verb, "undrain"))
		return play_node(w, verb, object, rest);
	if (!strcmp(verb, "reserve"))
		return play_reserve(w, object, rest);
	if (!strcmp(verb, "unreserve"))
		return state_unreserve(w->state, object, w->now, &w->err) < 0
		           ? refused(w)
		           : "";
	if (!strcmp(verb, "reservations"))
		return reservations(w);
	if (!strcmp(verb, "end"))
		return world_end(w, id, (int)strtol(rest, NULL, 10)), "";
	if (!strcmp(verb, "split"))
		return split(w, id, rest), "";
	ck_assert_msg(job, "%s: there is no job %s", verb, object);
	if (!strcmp(verb, "why"))
		return world_why(w, id);
	if (!strcmp(verb, "turn"))
		return turn(w, job);
	if (!strcmp(verb, "depend"))
		return play_depend(w, id);
	if (!strcmp(verb, "comment"))
		return play_comment(w, id);
	if (!strcmp(verb, "update"))
		return play_update(w, id, rest);
	if (!strcmp(verb, "top"))
		return state_top(w->state, job, &w->err) < 0 ? refused(w) : "";
	return play_event(w, verb, id);
}

/* Returns the lines of the snapshot that begin with the keyword, joined. */
static const char *snap_lines(struct world *w, const char *keyword)
{
	struct arena *arena = arena_new();
	const struct snap *snap = state_peek(w->state, w->now, arena);
	struct buf text = { 0 };
	char *rest;

	snap_write(snap, &text);
	rest = text.data;
	buf_clear(&w->text);
	for (char *line; (line = strsep(&rest, "\n"));)
		if (!strncmp(line, keyword, strlen(keyword)))
			buf_printf(&w->text, "%s%s", w->text.len ? "; " : "",
			           line);
	buf_free(&text);
	arena_free(arena);
	return done(w);
}

static const char *play_line(struct world *w, char *line)
{
	char *object = line + strcspn(line, " "), *rest;

	if (*object)
		*object++ = '\0';
	if (!strcmp(line, "submit"))
		return world_submit(w, object) ? "" : refused(w);
	if (!strcmp(line, "decide"))
		return world_decide(w, object), "";
	if (!strcmp(line, "snap"))
		return snap_lines(w, object);
	rest = object + strcspn(object, " ");
	if (*rest)
		*rest++ = '\0';
	return play(w, line, object, rest);
}

void world_play(struct world *w, const char *name, const char *const *step)
{
	for (; *step; step++) {
		const char *arrow = strstr(*step, " =>");
		char *line = arrow ? xstrndup(*step, (size_t)(arrow - *step))
		                   : xstrdup(*step);
		const char *got = play_line(w, line), *want = "";

		if (arrow)
			want = arrow + 3 + (arrow[3] == ' ');
		ck_assert_msg(glob_match(want, got), "%s: %s: got '%s'", name,
		              *step, got);
		free(line);
	}
}

/* --- check the counters ------------------------------------------------ */

struct counts {
	uint64_t state[JOB_NSTATES];
	uint64_t jobs[64], running[64]; /* by queue */
	size_t placed, holders;
	uint64_t reserved, claims, aligned; /* pending jobs */
};

static void count(const struct job *job, struct counts *c)
{
	uint32_t n = job_count(job);

	ck_assert(!!job->place ==
	          (job->state > JOB_PENDING && job->state < JOB_COMPLETED));
	ck_assert(!job->row || job->state == JOB_PENDING);
	ck_assert(!job->runs->leaving || job->place);
	ck_assert(!job->claim || job->row || job->place);
	c->holders += job->claim != NULL;
	c->state[job->state] += n;
	c->placed += job_is_placed(job);
	if (job_state_is_final((enum job_state)job->state))
		return;
	c->jobs[job->queue] += n;
	if (job->state != JOB_PENDING) {
		c->running[job->queue] += n;
		return;
	}
	c->reserved += job->reserved ? n : 0;
	c->claims += job->claims ? n : 0;
	c->aligned += job->aligned ? n : 0;
}

static void check_array(const struct state *state, const struct array *array)
{
	uint32_t left = 0, running = 0;

	for (const struct job *job = array->first; job; job = job->array_next) {
		ck_assert_uint_eq(job->array, array->id);
		ck_assert_ptr_eq(state_job(state, job->id), job);
		if (!job_state_is_final((enum job_state)job->state))
			left += job_count(job);
		running += job_is_placed(job);
	}
	ck_assert_uint_eq(array->unfinished, left);
	ck_assert_uint_eq(array->running, running);
}

static void check_waiting(const struct state *state, const struct job *job)
{
	const struct row_key *key = (const void *)job->row->key;
	const struct row_job *w = roster_find(&state->rows.waiting, job->id);

	ck_assert_ptr_nonnull(w);
	ck_assert_int_eq(w->since, job->eligible);
	ck_assert_uint_eq(w->count, job_count(job));
	ck_assert_uint_eq(w->slot, job->row->slot);
	ck_assert_uint_eq(key->claimer, job->claim ? job->id : 0);
}

static void check_rows(const struct state *state)
{
	const struct row_index *rows = &state->rows;
	size_t jobs = 0, asking = 0;
	const struct row_entry *e;
	struct roster_at at = { 0 };
	bool *taken = xcalloc(rows->nslots + 1, sizeof(*taken));

	while ((e = roster_next(&rows->all, &at))) {
		const struct row *row = e->row;
		uint32_t n = 0;

		for (const struct job *job = row->head; job;
		     job = job->row_next, n++) {
			ck_assert_ptr_eq(job->row, row);
			ck_assert(!job->row_next ||
			          job->row_next->id > job->id);
			check_waiting(state, job);
		}
		ck_assert_uint_eq(row->njobs, n);
		ck_assert_uint_gt(n, 0);
		ck_assert_uint_eq(row->number, e->number);
		ck_assert(row->slot && row->slot <= rows->nslots);
		ck_assert(!taken[row->slot]);
		taken[row->slot] = true;
		asking += row_key_asks(row->key);
		jobs += n;
	}
	ck_assert_uint_eq(rows->waiting.n, jobs);
	ck_assert_uint_eq(rows->nasking, asking);
	ck_assert_uint_eq(rows->nslots - rows->nfree_slots, rows->all.n);
	free(taken);
}

/* Check the counts of running tasks that the state keeps for arrays with
 * limits. */
static void check_limits(const struct state *state)
{
	const struct array *array;
	size_t at = 0, n = 0;

	while ((array = map_each(&state->records.arrays, &at))) {
		const struct array_limit *l =
		    roster_find(&state->rows.limits, array->id);

		ck_assert_int_eq(l != NULL, array->limit != 0);
		if (!l)
			continue;
		ck_assert_uint_eq(l->limit, array->limit);
		ck_assert_uint_eq(l->running, array->running);
		n++;
	}
	ck_assert_uint_eq(state->rows.limits.n, n);
}

/* Check the rates of rollups against all jobs. */
static void check_rollups(const struct state *state)
{
	int64_t held[RATES] = { 0 };

	for (struct job *job = state->records.placed; job; job = job->row_next)
		for (int r = 0; r < RATES; r++)
			held[r] += job->ledger->rate[r];
	for (size_t i = 0; i < state->rollups.n; i++)
		for (int r = 0; r < RATES; r++) {
			ck_assert_int_ge(state->rollups.rollup[i]->rate[r], 0);
			held[r] -= state->rollups.rollup[i]->rate[r];
		}
	for (int r = 0; r < RATES; r++)
		ck_assert_int_eq(held[r], 0);
}

/* Check the counters for metrics against all jobs. */
static void check_happened(struct state *state)
{
	size_t nqueues = state->conf->nqueues;
	struct queue_counts *seen = xcalloc(nqueues, sizeof(*seen));
	int64_t held[RATES] = { 0 };

	for (struct job *job = state->records.first; job; job = job->all_next) {
		struct queue_counts *c = &seen[job->queue];

		if (!job_state_is_final((enum job_state)job->state))
			c->jobs[job->state] += job_count(job);
		if (job->state == JOB_PENDING)
			c->aside[state_ineligible(state, job)] +=
			    job_count(job);
		for (int r = 0; job->place && r < RATES; r++)
			held[r] += job->ledger->rate[r];
	}
	for (size_t q = 0; q < nqueues; q++) {
		const struct queue_counts *c = &state->happened.queue[q];

		seen[q].aside[WHY_None] = 0;
		ck_assert_mem_eq(c->jobs, seen[q].jobs, sizeof(c->jobs));
		if (!state->sweep.what && !state->sweep.next)
			ck_assert_mem_eq(c->aside, seen[q].aside,
			                 sizeof(c->aside));
	}
	for (size_t i = 0; i < state->happened.nheld; i++)
		for (int r = 0; r < RATES; r++)
			held[r] -= state->happened.held[i]->rate[r];
	for (int r = 0; r < RATES; r++)
		ck_assert_int_eq(held[r], 0);
	free(seen);
}

static void write_snapshot(const struct world *w, struct buf *out)
{
	struct arena *arena = arena_new();

	snap_write(snap_build(w->state, w->now, arena, NULL, false), out);
	arena_free(arena);
}

/* Check that what the state keeps for the next snapshot is as if it were
 * written anew. It keeps that afterwards, too. */
static void check_kept(const struct world *w)
{
	struct node_table *nodes = &w->state->nodes;
	struct placed_list *placed = &w->state->placed;
	struct buf kept = { 0 }, anew = { 0 };
	struct node_frame *frame;
	struct run_frame *runs;
	uint64_t frames, moves;

	write_snapshot(w, &kept);
	frame = nodes->frame;
	frames = nodes->frames;
	runs = placed->frame;
	moves = placed->moves;
	nodes->frame = NULL;
	placed->frame = NULL;
	placed_all_changed(w->state);
	write_snapshot(w, &anew);
	ck_assert_str_eq(kept.data, anew.data);
	node_frame_drop(nodes);
	run_frame_drop(placed);
	nodes->frame = frame;
	nodes->frames = frames;
	placed->frame = runs;
	placed->moves = placed->copied = moves;
	buf_free(&kept);
	buf_free(&anew);
}

void world_check(const struct world *w)
{
	struct state *state = w->state;
	struct counts c = { 0 };
	const struct array *array;
	size_t at = 0, placed = 0, users = 0;
	const struct usage *usage;

	for (const struct job *job = state->records.first; job;
	     job = job->all_next) {
		ck_assert(!job->all_next || job->all_next->id > job->id);
		count(job, &c);
	}
	for (const struct job *job = state->records.placed; job;
	     job = job->row_next)
		placed++;
	ck_assert_uint_eq(placed, c.placed);
	ck_assert_uint_eq(state->claims.n, c.holders);
	ck_assert_uint_eq(state->sweep.nreserved, c.reserved);
	ck_assert_uint_eq(state->sweep.nclaims, c.claims);
	ck_assert_uint_eq(state->sweep.naligned, c.aligned);
	for (int s = 0; s < JOB_NSTATES; s++)
		ck_assert_uint_eq(state_counts(state)[s], c.state[s]);
	for (uint32_t q = 0; q < state->conf->nqueues; q++) {
		ck_assert_uint_eq(state->queues.queue[q].jobs, c.jobs[q]);
		ck_assert_uint_eq(state->queues.queue[q].running, c.running[q]);
		users += c.jobs[q];
	}
	while ((usage = map_each(&state->usages.by_key, &at)))
		users -= usage->jobs;
	ck_assert_uint_eq(users, 0);
	for (at = 0; (array = map_each(&state->records.arrays, &at));)
		check_array(state, array);
	check_rows(state);
	if (!state->sweep.what && !state->sweep.next)
		check_kept(w);
	check_limits(state);
	check_happened(state);
	check_rollups(state);
}
