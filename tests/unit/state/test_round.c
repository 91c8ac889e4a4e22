/* test_round.c - passes that continue where the last one stopped */
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

/* One job has all CPUs, and four different ones wait. */
#define FULL                                                                  \
	"submit cpus-per-task=4", "run", "tell",                              \
	    "submit cpus-per-task=1 nice=1", "submit cpus-per-task=2 nice=1", \
	    "submit cpus-per-task=3 nice=1", "submit cpus-per-task=4 nice=2"

static const struct {
	const char *name;
	const char *step[24];
} cases[] = {
	{ "all are asked in the end",
	  { FULL, "budget 1", "plan",
	    "jobs => 1 R, 2 PD Resources, 3 PD Unevaluated, 4 PD Unevaluated, "
	    "5 PD Unevaluated",
	    "wants => yes", "plan", "plan",
	    "jobs => 1 R, 2 PD Resources, 3 PD Resources, 4 PD Resources, "
	    "5 PD Unevaluated",
	    "wants => yes", "plan",
	    "jobs => 1 R, 2 PD Resources, 3 PD Resources, 4 PD Resources, "
	    "5 PD Resources",
	    "wants => no" } },
	{ "the sentence stays as it was",
	  { FULL, "budget 1", "plan", "plan",
	    "why 2 => Resources: needs 1 CPU on one node; n0 has the most free, "
	    "0 of 4; waits for job 1 to end",
	    "why 4 => Unevaluated: the scheduler has not considered it yet" } },
	{ "what is free by now is for a later pass of those who were asked",
	  { FULL, "budget 1", "plan", "end 1 0", "plan",
	    "jobs => 1 CD, 2 PD Resources, 3 CF, 4 PD Unevaluated, 5 PD "
	    "Unevaluated",
	    "plan", "plan", "wants => yes", "plan",
	    "jobs => 1 CD, 2 CF, 3 CF, 4 PD Unevaluated, 5 PD Unevaluated" } },
	{ "who comes later and goes first is asked first",
	  { FULL, "budget 1", "plan", "submit cpus-per-task=4", "plan",
	    "jobs => 1 R, 2 PD Resources, 3 PD Unevaluated, 4 PD Unevaluated, "
	    "5 PD Unevaluated, 6 PD Resources" } },
	{ "each start counts",
	  { "submit cpus-per-task=1", "submit cpus-per-task=1", "budget 1",
	    "plan", "jobs => 1 CF, 2 PD Unevaluated", "wants => yes", "plan",
	    "jobs => 1 CF, 2 CF", "wants => no" } },
	{ "promises are kept from pass to pass",
	  { "submit cpus-per-task=3 time=10m", "run", "tell",
	    "submit cpus-per-task=4 time=10m", "budget 1", "plan",
	    "submit time=20m cpus-per-task=1", "plan",
	    "jobs => 1 R, 2 PD Resources, 3 PD Unevaluated", "wants => yes",
	    "plan", "jobs => 1 R, 2 PD Resources, 3 PD Priority",
	    "wants => no" } },
};

/* Jobs 1, 2 and 3 want the only licence. One of those that wait is promised it;
 * the other may delay job 4, which is told no start in the third pass either.
 */
START_TEST(no_start_is_told_behind_one_that_is_not_known)
{
	static const char *const steps[] = {
		"submit licenses=a time=10m",
		"run",
		"tell",
		"submit licenses=a time=10m",
		"submit licenses=a cpus-per-task=4 time=10m nice=1",
		"submit cpus-per-task=4 time=1h nice=2",
		"budget 1",
		"plan",
		"turn 2 => 1 at 600",
		"plan",
		"jobs => 1 R, 2 PD Licenses, 3 PD Licenses, 4 PD Unevaluated",
		"plan",
		"jobs => 1 R, 2 PD Licenses, 3 PD Licenses, 4 PD Resources",
		"turn 2 => 1 at 600",
		"turn 3 => 2",
		"turn 4 => 3",
		NULL
	};
	struct world w;

	world_with_node(&w, "licenses { a = 1 }\n"
	                    "scheduling { backfill_depth = 1 }\n");
	world_play(&w, "licence", steps);
	world_commit(&w);
	world_fini(&w);
}
END_TEST

START_TEST(round_case)
{
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, cases[_i].name, cases[_i].step);
	world_commit(&w);
	world_fini(&w);
}
END_TEST

SUITE(round)
{
	tcase_add_loop_test(tc, round_case, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(tc, no_start_is_told_behind_one_that_is_not_known);
}
