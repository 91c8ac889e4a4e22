/* what_if.c - what a plan would decide about requests that are only tested */
#include "aischedd/state/pass/what_if.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/verdict.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/reserve_use.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/pass/why.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

enum {
	/* the work of a pass in steps: at least STEPS_PLAN, and STEPS_PLANNED
	 * for each row, running job and node */
	STEPS_PLAN = 500,
	STEPS_PLANNED = 10
};

/* --- test a request (--test-only) -------------------------------------- */

/* A plan, and the tested job, which is the last one of its row in
 * the snapshot. */
struct outlook {
	const struct state *state;
	const struct snap *snap;
	const struct plan *plan;
	uint32_t row, member;
};

static const struct start *start_of(const struct outlook *o)
{
	for (uint32_t i = 0; i < o->plan->nstarts; i++)
		if (o->plan->start[i].member == o->member)
			return &o->plan->start[i];
	return NULL;
}

static const struct plan_claim *claim_of(const struct outlook *o)
{
	for (uint32_t i = 0; i < o->plan->nclaims; i++)
		if (o->plan->claim[i].row == o->row &&
		    o->plan->claim[i].member == o->member)
			return &o->plan->claim[i];
	return NULL;
}

static void start_nodes(const struct outlook *o, const struct start *start,
                        struct buf *out)
{
	const char **name = xcalloc(start->ntasks + 1, sizeof(*name));

	for (uint32_t t = 0; t < start->ntasks; t++) {
		uint32_t node = o->plan->task[start->task_first + t].node;

		name[t] = state_node_label(o->state, node);
	}
	hostlist_format(name, start->ntasks, out);
	free(name);
}

/* Returns a map of the evictions that the plan makes for the tested job, by the
 * id of the evicted job. */
static struct map evictions_for(const struct outlook *o)
{
	struct map ret = { 0 };

	for (uint32_t i = 0; i < o->plan->nevictions; i++) {
		const struct eviction *e = &o->plan->eviction[i];

		if (e->by == o->snap->member[o->member].job)
			map_set(&ret, o->snap->run.job[e->run], (void *)e);
	}
	return ret;
}

/* List the jobs that would be suspended for the tested job (`suspended`
 * true), or evicted, wholly or in part (false). Jobs that are already ending
 * are left out. */
static void list_evicts(const struct outlook *o, const struct map *evictions,
                        bool suspended, struct what_if *ret)
{
	int64_t now = o->snap->now;

	for (const struct job *job = o->state->records.placed; job;
	     job = job->row_next) {
		const struct eviction *e = map_find(evictions, job->id);

		if (!e || e->suspend != suspended ||
		    job->state == JOB_COMPLETING)
			continue;
		ret->evict[ret->nevicts++] = job->id;
		if (!suspended && now + job->grace > ret->expected)
			ret->expected = now + job->grace;
	}
}

static void preempting(const struct outlook *o, const struct plan_claim *claim,
                       struct what_if *ret, struct buf *text)
{
	struct map evictions = evictions_for(o);

	ret->why = WHY_Preempting;
	ret->evict = xcalloc(evictions.n + 1, sizeof(*ret->evict));
	list_evicts(o, &evictions, false, ret);
	evict_text(o->state, ret->evict, (uint32_t)ret->nevicts,
	           o->plan->claim_node + claim->node_first, claim->n, text);
	list_evicts(o, &evictions, true, ret);
	map_free(&evictions);
}

static void waiting(const struct outlook *o, struct arena *arena,
                    struct what_if *ret, struct buf *text)
{
	struct turns_told told = told_list(o->snap, o->plan, arena);
	struct verdict v = told_verdict(&told, o->snap->member[o->member].job,
	                                &o->plan->verdict[o->row]);

	ret->why = verdict_reason(&v);
	ret->position = v.position;
	if (v.expected != SNAP_NEVER)
		ret->expected = v.expected;
	why_verdict_text(o->state, o->snap, o->row, &v, text);
}

/* A test of a request (--test-only). */
struct state_test {
	struct arena *arena;
	struct build *taken; /* NULL: the answer needs no plan */
	const struct snap *snap;
	const struct plan *plan;
	struct what_if what;
	struct buf text;
};

static void take_plan(struct state *state, const struct job *job, int64_t now,
                      struct state_test *test)
{
	test->arena = arena_new();
	test->taken = snap_take(state, now, test->arena, job);
}

void state_test_plan(struct state_test *test)
{
	const struct snap *snap;

	if (!test->taken)
		return;
	snap = test->snap = snapshot_finish(test->taken);
	test->plan = sched_plan(snap, test->arena);
	steps_add(STEPS_PLAN + (uint64_t)STEPS_PLANNED *
	                           (snap->pend.n + snap->run.n + snap->node.n));
}

size_t state_test_size(const struct state_test *test)
{
	return test->taken ? snapshot_size(test->taken) : 0;
}

/* Set the answer from what the plan decided about the job. */
static void tell_plan(const struct state *state, struct state_test *test)
{
	const struct snap *snap = test->snap;
	uint32_t row = snapshot_row_of_extra(test->taken);
	struct outlook o = { .state = state,
		             .snap = snap,
		             .plan = test->plan,
		             .row = row,
		             .member = snap->pend.member_first[row + 1] - 1 };
	const struct start *start = start_of(&o);
	const struct plan_claim *claim = claim_of(&o);

	if (start) {
		test->what.starts = true;
		test->what.expected = snap->now;
		start_nodes(&o, start, &test->what.nodes);
		test->what.place = placement_of_plan(
		    test->plan, start->task_first, start->ntasks);
	} else if (claim) {
		preempting(&o, claim, &test->what, &test->text);
	} else {
		waiting(&o, test->arena, &test->what, &test->text);
	}
}

struct arena *state_test_end(struct state *state, struct state_test *test)
{
	struct arena *arena = test->arena;

	if (test->taken)
		state_end_snapshot(state, test->taken);
	free(test->what.evict);
	free(test->what.place);
	buf_free(&test->what.nodes);
	buf_free(&test->text);
	free(test);
	return arena;
}

void state_test_free(struct state *state, struct state_test *test)
{
	if (test)
		arena_free(state_test_end(state, test));
}

const struct what_if *state_test_tell(const struct state *state,
                                      struct state_test *test,
                                      const char **ret_text)
{
	if (test->taken)
		tell_plan(state, test);
	*ret_text = test->text.data ? test->text.data : "";
	return &test->what;
}

/* Additions to the state for a test: trial_begin() makes them before the
 * snapshot is taken, and trial_end() undoes them afterwards. */
struct trial {
	struct job *job;
	struct array array;
	struct reservation *resv;
	char *guests;
	bool resv_dirty;
};

static void trial_begin(struct state *state, struct trial *t,
                        const struct spec *spec, const struct submitter *who)
{
	struct job *job = t->job;

	if (spec->array) {
		if (idset_parse(&job->tasks, &t->array.limit, spec->array,
		                NULL) < 0)
			abort(); /* cannot fail: it was checked before */
		job->array = t->array.id = job->id;
		map_set(&state->records.arrays, job->id, &t->array);
	}
	if (spec->reservation)
		t->resv = reserve_find(state, spec->reservation);
	if (t->resv) {
		t->resv_dirty = state->reservations.dirty;
		t->guests = xstrdup(t->resv->guests);
		reserve_admit(state, spec, who);
	}
	usage_try(state, job, job->submit);
}

static void trial_end(struct state *state, struct trial *t)
{
	struct job *job = t->job;

	usage_untry(state, job);
	if (t->resv) {
		free(t->resv->guests);
		t->resv->guests = t->guests;
		state->reservations.dirty = t->resv_dirty;
	}
	if (job->array)
		map_del(&state->records.arrays, job->id);
	job_free(job);
}

struct state_test *state_test_take(struct state *state, const struct spec *spec,
                                   const struct submitter *who, uint32_t queue,
                                   int64_t now)
{
	struct state_test *test = xcalloc(1, sizeof(*test));
	struct trial t = {
		.job = state_make_job(state, spec, who, queue, state->next_id,
		                      now),
	};

	test->what.expected = NO_TIME;
	trial_begin(state, &t, spec, who);
	if (spec->dependency &&
	    deps_parse(state, spec->dependency, &t.job->deps, NULL) < 0)
		abort(); /* cannot fail: it was checked before */
	if (t.job->deps)
		deps_try(state, t.job, now);
	if (state_ineligible(state, t.job) == WHY_None) {
		t.job->eligible = now;
		take_plan(state, t.job, now, test);
	} else {
		test->what.why =
		    state_why(state, t.job, now, &test->text,
		              &test->what.expected, &test->what.position);
	}
	trial_end(state, &t);
	return test;
}

/* --- whether a job could ever fit --------------------------------------- */

enum { FITS_MAX = 4096 };

static bool all_ready(const struct state *state, uint64_t pools)
{
	for (size_t i = 0; i < state->conf->npools; i++)
		if (pools >> i & 1 && !state->pools.pool[i].ready)
			return false;
	return true;
}

int state_check_fit(struct state *state, const struct job *job, struct err *err)
{
	struct buf key = { 0 };
	struct row_key shape;
	struct arena *arena;
	uint64_t hash;
	int result = 0;

	row_key_build(state, job, &key);
	memcpy(&shape, key.data, sizeof(shape));
	/* node_table.fits remembers jobs that fit, by a hash of their keys
	 * without the parts that do not matter here: the time limit, and the
	 * members from `user` on. */
	shape.time_limit = 0;
	memset(&shape.user, 0, sizeof(shape) - offsetof(struct row_key, user));
	hash = hash_bytes(2, &shape, sizeof(shape));
	hash =
	    hash_bytes(hash, key.data + sizeof(shape), key.len - sizeof(shape));
	buf_free(&key);
	if (!all_ready(state, shape.pools) ||
	    map_find(&state->nodes.fits, hash))
		return 0;
	arena = arena_new();
	result =
	    sched_could_fit(snap_build(state, 0, arena, job, true), 0, err);
	arena_free(arena);
	if (result < 0)
		return -1;
	if (state->nodes.fits.n == FITS_MAX)
		map_free(&state->nodes.fits);
	map_set(&state->nodes.fits, hash, state);
	return 0;
}
