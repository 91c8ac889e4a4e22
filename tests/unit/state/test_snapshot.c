/* test_snapshot.c - what snapshots share */
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

#include "aischedd/state/pass/snapshot.h"

#include "aischedd/sched/snap.h"
#include "aischedd/sched/text/text.h"

/* An array with a limit is held, a task of another one runs, so do a job and
 * two of the three tasks of an elastic job. */
static const char *const running[] = { "submit array=0-1%1 hold",
	                               "submit array=0-1%1",
	                               "submit",
	                               "run",
	                               "submit tasks=3 min-tasks=2",
	                               "decide start 5 n0,n0",
	                               "started 5",
	                               "commit",
	                               "jobs => 1_*, 2_* PD *, 3 R, 2_0 R, 5 R",
	                               NULL };

static const struct {
	const char *name;
	bool shares;
	const char *step[4];
} cases[] = {
	{ "nothing happens", true, { NULL } },
	{ "time passes", true, { "+10" } },
	{ "a job is submitted", true, { "submit" } },
	{ "a job that waits changes", true, { "release 1" } },
	{ "the array before another one ends",
	  true,
	  { "cancel 1", "commit", "snap array => array 2 limit=1" } },
	{ "a node is drained", true, { "drain n0 disk" } },
	{ "a job starts", false, { "submit", "plan" } },
	{ "a job ends", false, { "end 3 0" } },
	{ "a job grows", false, { "decide grow 5 n0" } },
	{ "a job is requeued", false, { "requeue 3", "end 3 0" } },
	{ "a job is suspended", false, { "suspend 3" } },
	{ "a job that runs changes", false, { "update 3 time=1h" } },
	{ "a node has other CPUs", false, { "node n0 6" } },
};

struct shot {
	struct arena *arena;
	const struct snap *snap;
	struct buf text;
};

static void take(const struct world *w, struct shot *ret)
{
	*ret = (struct shot){ .arena = arena_new() };
	ret->snap = state_peek(w->state, w->now, ret->arena);
	snap_write(ret->snap, &ret->text);
}

static void drop(struct shot *shot)
{
	arena_free(shot->arena);
	buf_free(&shot->text);
}

START_TEST(share_case)
{
	struct buf again = { 0 };
	struct shot old, new;
	struct world w;

	world_init(&w, NULL);
	world_node(&w, "n0", 8, 4000, 0);
	world_play(&w, "running", running);
	take(&w, &old);
	world_play(&w, cases[_i].name, cases[_i].step);
	take(&w, &new);
	ck_assert_msg((old.snap->run.job == new.snap->run.job) ==
	                  cases[_i].shares,
	              "%s", cases[_i].name);
	ck_assert_int_eq(old.snap->task == new.snap->task, cases[_i].shares);
	drop(&new);
	/* The state makes anew what it keeps; the older snapshot stays. */
	world_check(&w);
	snap_write(old.snap, &again);
	ck_assert_str_eq(again.data, old.text.data);
	drop(&old);
	buf_free(&again);
	world_fini(&w);
}
END_TEST

/* The ending tasks of an elastic job have no licenses of their own. */
START_TEST(running_jobs_take_their_licenses)
{
	static const char *const steps[] = {
		"submit licenses=matlab:2 tasks=2 min-tasks=1",
		"submit licenses=matlab",
		"submit",
		"run",
		"jobs => 1 R, 2 R, 3 R",
		"submit licenses=matlab:7",
		"plan",
		"why 4 => Licenses: needs 7 *; 6 of 9 free",
		"decide evict 1 1 preempt 3",
		"snap run => run 3 *run 2 *run 1 *run 1 *",
		"plan",
		"why 4 => Licenses: needs 7 *; 6 of 9 free",
		"end 2 0",
		"plan",
		"jobs => 1 R, 2 CD, 3 R, 4 CF",
		NULL
	};
	struct world w;

	world_init(&w, WORLD_CONF "licenses { matlab = 9 }\n");
	world_node(&w, "n0", 8, 4000, 0);
	world_play(&w, "licenses", steps);
	world_fini(&w);
}
END_TEST

SUITE(snapshot)
{
	tcase_add_test(tc, running_jobs_take_their_licenses);
	tcase_add_loop_test(tc, share_case, 0, ARRAY_SIZE(cases));
}
