/* test_apply.c - plans that are applied in parts */
#include "aischedd/sched/plan.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/snapshot.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

#define PLAY(w, ...) \
	world_play(w, "", (const char *const[]){ __VA_ARGS__, NULL })

/* A plan of which a part is applied. */
struct parts {
	struct world w;
	struct arena *arena;
	struct apply *apply;
};

/* Plan the starts of six jobs on two nodes of 4 CPUs, the last of them an array
 * of two tasks. */
static void parts_init(struct parts *p)
{
	const struct queue_found *found;
	const struct snap *snap;
	const struct plan *plan;
	struct build *taken;

	world_with_node(&p->w, NULL);
	PLAY(&p->w, "node n1 4", "submit", "submit", "submit", "submit",
	     "submit", "submit array=0-1");
	p->arena = arena_new();
	taken = state_take_snapshot(p->w.state, p->w.now, p->arena);
	snap = snapshot_finish(taken);
	plan = sched_plan(snap, p->arena);
	ck_assert_uint_eq(plan->nstarts, 7);
	found = snapshot_read_plan(taken, plan, p->arena);
	state_end_snapshot(p->w.state, taken);
	p->apply = apply_begin(p->w.state, snap, plan, found, p->arena);
}

static void parts_fini(struct parts *p)
{
	apply_free(p->apply);
	arena_free(p->arena);
	world_fini(&p->w);
}

/* Steps between the first two starts and the others, and the jobs after these;
 * again: another plan is needed. */
static const struct {
	const char *name;
	const char *step[3];
	const char *jobs;
	bool again;
} cases[] = {
	{ "nothing",
	  { NULL },
	  "1 CF, 2 CF, 3 CF, 4 CF, 5 CF, 6_0 CF, 6_1 CF",
	  false },
	{ "a job is submitted",
	  { "submit" },
	  "1 CF, 2 CF, 3 CF, 4 CF, 5 CF, 7 PD Unevaluated, 6_0 CF, 6_1 CF",
	  true },
	{ "a job is cancelled before its start",
	  { "cancel 3" },
	  "1 CF, 2 CF, 3 CA Cancelled, 4 CF, 5 CF, 6_0 CF, 6_1 CF",
	  true },
	{ "a job is cancelled after its start",
	  { "cancel 1" },
	  "1 CG, 2 CF, 3 CF, 4 CF, 5 CF, 6_0 CF, 6_1 CF",
	  true },
	{ "an array is cancelled",
	  { "cancel 6" },
	  "1 CF, 2 CF, 3 CF, 4 CF, 5 CF, 6_[0-1] CA Cancelled",
	  true },
	{ "a job is held",
	  { "hold 4" },
	  "1 CF, 2 CF, 3 CF, 4 PD JobHeldUser, 5 CF, 6_0 CF, 6_1 CF",
	  true },
	{ "a job is held and released, and keeps its start",
	  { "hold 4", "release 4" },
	  "1 CF, 2 CF, 3 CF, 4 CF, 5 CF, 6_0 CF, 6_1 CF",
	  true },
	{ "a job asks for more",
	  { "update 5 cpus-per-task=4" },
	  "1 CF, 2 CF, 3 CF, 4 CF, 5 PD Unevaluated, 6_0 CF, 6_1 CF",
	  true },
	{ "a node is drained: the rest waits for the next plan",
	  { "drain n1 disk" },
	  "1 CF, 2 CF, 3 PD Unevaluated, 4 PD Unevaluated, "
	  "5 PD Unevaluated, 6_[0-1] PD Unevaluated",
	  true },
	{ "the queue is closed",
	  { "close batch" },
	  "1 CF, 2 CF, 3 PD QueueClosed, 4 PD QueueClosed, "
	  "5 PD QueueClosed, 6_[0-1] PD QueueClosed",
	  true },
};

START_TEST(apply_case)
{
	struct parts p;

	parts_init(&p);
	ck_assert(!apply_part(p.apply, 2, p.w.now));
	ck_assert_str_eq(world_jobs(&p.w),
	                 "1 CF, 2 CF, 3 PD Unevaluated, 4 PD Unevaluated, "
	                 "5 PD Unevaluated, 6_[0-1] PD Unevaluated");
	world_play(&p.w, cases[_i].name, cases[_i].step);
	while (!apply_part(p.apply, 1, p.w.now))
		world_check(&p.w);
	world_check(&p.w);
	ck_assert_msg(!strcmp(world_jobs(&p.w), cases[_i].jobs), "%s: %s",
	              cases[_i].name, world_jobs(&p.w));
	ck_assert_int_eq(state_wants_plan(p.w.state), cases[_i].again);
	parts_fini(&p);
}
END_TEST

/* Each part leaves the changes and effects of its own starts, to be stored and
 * told before the next part. */
START_TEST(a_plan_is_stored_and_told_in_parts)
{
	static const uint32_t nstarts[] = { 3, 1, 3 };
	const struct effect *effect;
	struct changes changes;
	struct parts p;

	parts_init(&p);
	world_commit(&p.w);
	for (size_t i = 0; i < ARRAY_SIZE(nstarts); i++) {
		ck_assert_int_eq(apply_part(p.apply, nstarts[i], p.w.now),
		                 i + 1 == ARRAY_SIZE(nstarts));
		state_changes(p.w.state, &changes);
		ck_assert_uint_eq(changes.njobs, nstarts[i]);
		world_commit(&p.w);
		ck_assert_uint_eq(state_take_effects(p.w.state, &effect),
		                  nstarts[i]);
	}
	parts_fini(&p);
}
END_TEST

/* As when the daemon is killed: what was not applied has not happened. */
START_TEST(a_plan_may_end_early)
{
	struct parts p;

	parts_init(&p);
	ck_assert(!apply_part(p.apply, 2, p.w.now));
	apply_free(p.apply);
	p.apply = NULL;
	PLAY(&p.w, "submit", "run",
	     "jobs => 1 R, 2 R, 3 R, 4 R, 5 R, 7 R, 6_0 R, 6_1 R");
	parts_fini(&p);
}
END_TEST

SUITE(apply)
{
	tcase_add_loop_test(tc, apply_case, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(tc, a_plan_is_stored_and_told_in_parts);
	tcase_add_test(tc, a_plan_may_end_early);
}
