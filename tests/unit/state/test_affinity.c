/* test_affinity.c - jobs that are to run near other jobs, or apart from them */
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

#define CONF                                                           \
	"topology { levels = {\"rack\"} }\n"                           \
	"pool here { runner = local }\nqueue batch { }\n"              \
	"node a0 { topology = \"a\" }\nnode a1 { topology = \"a\" }\n" \
	"node b0 { topology = \"b\" }\n"

/* Nodes a0 and a1 in rack a, b0 in rack b, each with 4 CPUs. */
static const struct {
	const char *name;
	const char *step[32];
} affinity_case[] = {
	{ "a job starts near another one, or waits for it to start",
	  { "submit hold nodelist=a1", "submit near=1 cpus-per-task=2", "plan",
	    "jobs => 1 PD JobHeldUser, 2 PD Affinity",
	    "why 2 => Affinity: waits for job 1, near which it is to run, to "
	    "start",
	    "release", "run", "run", "jobs => 1 R, 2 R",
	    "snap run => run *on=a1*run *on=a1*", NULL } },
	{ "near a rack",
	  { "submit nodelist=a0 cpus-per-task=4", "run", "submit near=1",
	    "submit near=1:rack", "run", "jobs => 1 R, 2 PD Affinity, 3 R",
	    "snap run => *on=a1*",
	    "why 2 => Affinity: would fit, but not where --near and --apart "
	    "allow it now",
	    "submit near=2", "plan", "why 4 => Affinity: waits for job 2, *",
	    NULL } },
	{ "a job that has ended is near nothing",
	  { "submit nodelist=b0 cpus-per-task=4", "run", "submit near=1", "run",
	    "jobs => 1 R, 2 PD Affinity", "end 1 0", "run", "jobs => 1 CD, 2 R",
	    NULL } },
	{ "a waiting job that ends has no job wait for it",
	  { "submit hold", "submit near=1", "plan",
	    "jobs => 1 PD JobHeldUser, 2 PD Affinity", "cancel 1", "run",
	    "jobs => 1 CA Cancelled, 2 R", NULL } },
	{ "a job that waits again has others wait, but stops none",
	  { "submit nodelist=a1", "run", "submit near=1", "run",
	    "submit near=1 hold", "requeue 1", "end 1 0", "hold 1", "release 3",
	    "plan", "jobs => 1 PD JobHeldUser, 2 R, 3 PD Affinity", NULL } },
	{ "near one of several jobs",
	  { "submit nodelist=a0 cpus-per-task=4", "submit nodelist=b0", "run",
	    "submit near=1,2", "submit hold near=1,3", "run",
	    "jobs => 1 R, 2 R, 3 R, 4 PD JobHeldUser",
	    "snap run => *on=b0*on=b0*", NULL } },
	{ "near a task of an array, or any of its tasks",
	  { "submit array=0-1 cpus-per-task=4 nodelist=b0", "submit near=1_1",
	    "submit near=1 nodelist=a0", "plan",
	    "jobs => 1_[1] PD Resources, 2 PD Affinity, 3 PD Unevaluated, "
	    "1_0 CF",
	    "plan", "why 3 => Affinity: would fit, but not *", NULL } },
	{ "a job apart from another one",
	  { "submit nodelist=a0", "run", "submit apart=1 exclude=b0", "run",
	    "snap run => *on=a1*on=a0*", "submit apart=1:rack", "run",
	    "jobs => 1 R, 2 R, 3 R", "snap run => *on=b0*on=a1*on=a0*",
	    "submit apart=1,3:rack", "run",
	    "why 4 => Affinity: would fit, but not *", "end 3 0", "run",
	    "jobs => 1 R, 2 R, 3 CD, 4 R", NULL } },
	{ "jobs that are to be apart do not start in one plan on one node",
	  { "submit nodelist=a0", "submit apart=1 nodelist=a0", "plan",
	    "jobs => 1 CF, 2 PD *", "wants => yes", "plan",
	    "jobs => 1 CF, 2 PD Affinity", NULL } },
	{ "nor if the job that names the other is first",
	  { "submit nodelist=a0 hold", "submit apart=1 nodelist=a[0-1]", "run",
	    "snap run => *on=a0*", "release 1", "run",
	    "jobs => 1 PD Affinity, 2 R", "end 2 0", "run", "jobs => 1 R, 2 CD",
	    NULL } },
	{ "a job stays apart when it starts again",
	  { "submit nodelist=a[0-1] cpus-per-task=2", "run",
	    "submit apart=1 nodelist=a1", "run", "snap run => *on=a1*on=a0*",
	    "requeue 1", "end 1 0", "drain a0 broken", "run",
	    "jobs => 1 PD Affinity, 2 R", "end 2 0", "run", "jobs => 1 R, 2 CD",
	    NULL } },
	{ "a job that names no other any more",
	  { "submit nodelist=a0", "run", "submit apart=1 nodelist=a0", "plan",
	    "jobs => 1 R, 2 PD Affinity", "update 2 apart=", "run",
	    "jobs => 1 R, 2 R", NULL } },
	{ "only jobs that were submitted before can be named",
	  { "submit hold", "submit hold",
	    "update 1 near=2 => ! --near: job 2 was not submitted before "
	    "this one",
	    "update 1 apart=1 => ! --apart: job 1 was not submitted before "
	    "this one",
	    "submit near=3 => ! --near: you have no job 3 that waits or runs",
	    "cancel 1",
	    "submit apart=2,1 => ! --apart: you have no job 1 that waits or "
	    "runs",
	    "submit near=2_1 => ! --near: you have no job 2_1 *",
	    "update 2 near=1 => ! --near: you have no job 1 *",
	    "submit near=2:zone => ! --near: there is no topology level "
	    "'zone'; levels are rack",
	    NULL } },
	{ "an elastic job grows apart from others",
	  { "submit nodelist=a0 cpus-per-task=2", "run",
	    "submit apart=1:rack tasks=3 min-tasks=1 cpus-per-task=2", "run",
	    "plan", "plan", "snap run => *on=b0:c0-1,b0:c2-3; run 1 *on=a0*",
	    NULL } },
};

START_TEST(affinity)
{
	struct world w;

	world_init(&w, CONF);
	world_node(&w, "a0", 4, 4000, 0);
	world_node(&w, "a1", 4, 4000, 0);
	world_node(&w, "b0", 4, 4000, 0);
	world_play(&w, affinity_case[_i].name, affinity_case[_i].step);
	world_fini(&w);
}
END_TEST

/* The job of another user gets the same answer as a job that does not exist. */
START_TEST(nobody_names_a_job_of_others)
{
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "");
	w.who.uid++;
	w.who.user = "other";
	ck_assert_uint_eq(world_submit(&w, "near=1"), 0);
	ck_assert_str_eq(w.err.text,
	                 "--near: you have no job 1 that waits or runs");
	ck_assert_uint_eq(world_submit(&w, "apart=7"), 0);
	ck_assert_str_eq(w.err.text,
	                 "--apart: you have no job 7 that waits or runs");
	world_fini(&w);
}
END_TEST

START_TEST(nobody_uses_up_what_others_can)
{
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "hold");
	world_submit(&w, "hold");
	for (int i = 0; i < 2000; i++)
		ck_assert_uint_ne(
		    world_submit(&w, i % 2 ? "hold near=1" : "hold apart=2"),
		    0);
	ck_assert_uint_eq(world_submit(&w, "near=3"), 0);
	ck_assert_str_eq(w.err.text, "2000 of your jobs with --near or --apart "
	                             "wait or run already");
	w.who.uid++;
	w.who.user = "other";
	ck_assert_uint_eq(world_submit(&w, "hold"), 2003);
	ck_assert_uint_ne(world_submit(&w, "near=2003"), 0);
	world_fini(&w);
}
END_TEST

SUITE(affinity)
{
	tcase_add_test(tc, nobody_uses_up_what_others_can);
	tcase_add_test(tc, nobody_names_a_job_of_others);
	tcase_add_loop_test(tc, affinity, 0, ARRAY_SIZE(affinity_case));
}
