/* test_timing.c - begin times, deadlines, time limits, and signals before
 * them */
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

static const struct {
	const char *name;
	const char *step[24];
} cases[] = {
	{ "a job does not start before it may begin",
	  { "submit begin=now+10", "plan", "jobs => 1 PD BeginTime",
	    "why => BeginTime: may begin in 0:10", "next => 10", "+9",
	    "jobs => 1 PD BeginTime", "+1", "jobs => 1 PD Unevaluated" } },
	{ "a begin in the past is none",
	  { "submit begin=now-5", "jobs => 1 PD Unevaluated" } },
	{ "a begin that is changed",
	  { "submit begin=now+10", "update 1 begin=now+20", "+10",
	    "jobs => 1 PD BeginTime", "update 1 begin=now",
	    "jobs => 1 PD Unevaluated" } },
	{ "a begin that is changed back",
	  { "submit", "update 1 begin=now+20", "jobs => 1 PD BeginTime",
	    "update 1 begin=", "jobs => 1 PD Unevaluated" } },
	{ "at its time limit a job is stopped",
	  { "submit time=60s", "run", "tell", "next => 61", "+60",
	    "jobs => 1 R", "+1", "jobs => 1 CG", "effects => stop 1.1",
	    "end 1 0", "jobs => 1 TO TimeLimit" } },
	{ "a job without a time limit goes on",
	  { "submit", "run", "+999999", "jobs => 1 R" } },
	{ "while it is suspended its time stands still",
	  { "submit time=60s", "run", "+50", "suspend", "+1000",
	    "jobs => 1 S JobHeldAdmin", "resume", "run", "+10", "jobs => 1 R",
	    "+1", "jobs => 1 CG" } },
	{ "a longer limit counts from the start",
	  { "submit time=60s", "run", "operator", "+30", "update 1 time=90s",
	    "+60", "jobs => 1 R", "+1", "jobs => 1 CG" } },
	{ "a shorter limit, too",
	  { "submit time=60s", "run", "+30", "update 1 time=20s", "+0",
	    "jobs => 1 CG" } },
	{ "a requeued job has all of its time again",
	  { "submit time=60s", "run", "+50", "requeue", "end 1 0", "run", "+60",
	    "jobs => 1 R", "+1", "jobs => 1 CG" } },
	{ "a deadline that can no longer be met ends a job that waits",
	  { "submit time=60s deadline=now+100 hold", "+40",
	    "jobs => 1 PD JobHeldUser", "+1", "jobs => 1 DL DeadLine" } },
	{ "without a time limit it may start until then",
	  { "submit deadline=now+100 hold", "+100", "jobs => 1 PD JobHeldUser",
	    "+1", "jobs => 1 DL DeadLine" } },
	{ "a job that runs is stopped at its deadline",
	  { "submit deadline=now+100", "run", "tell", "+100", "jobs => 1 R",
	    "+1", "jobs => 1 CG", "effects => stop 1.1", "end 1 0",
	    "jobs => 1 DL DeadLine" } },
	{ "a suspended job is stopped at its deadline",
	  { "submit deadline=now+100", "run", "suspend", "+101",
	    "jobs => 1 CG" } },
	{ "a requeued job keeps its deadline",
	  { "submit time=60s deadline=now+100", "run", "+50", "requeue",
	    "end 1 0", "+0", "jobs => 1 DL DeadLine" } },
	{ "a requeued job keeps a deadline that it can still meet",
	  { "submit time=10s deadline=now+100", "run", "+5", "requeue",
	    "end 1 0", "hold", "+86", "jobs => 1 DL DeadLine" } },
	{ "a deadline that is given later",
	  { "submit", "run", "update 1 deadline=now+10", "+11",
	    "jobs => 1 CG" } },
	{ "tasks of an array have their deadlines",
	  { "submit array=0-4 deadline=now+10", "run", "tell", "+11",
	    "jobs => 1_[4] DL DeadLine, 1_0 CG, 1_1 CG, 1_2 CG, 1_3 CG" } },
	{ "a signal once before the limit",
	  { "submit time=60s signal=USR1@20", "run", "tell", "+40",
	    "effects =>", "+1", "effects => signal 1.1 10", "+10", "effects =>",
	    "+10", "effects => stop 1.1" } },
	{ "a signal for the script alone",
	  { "submit time=60s signal=B:USR2@20", "run", "tell", "+41",
	    "effects => signal 1.1 12 script" } },
	{ "a signal that is due at once",
	  { "submit time=60s signal=USR1@90", "run", "tell", "+0",
	    "effects => signal 1.1 10" } },
	{ "the signal waits for a suspended job",
	  { "submit time=60s signal=USR1@20", "run", "+30", "suspend", "+100",
	    "resume", "run", "tell", "+10", "effects =>", "+1",
	    "effects => signal 1.1 10" } },
	{ "each attempt is signalled",
	  { "submit time=60s signal=USR1@20", "run", "+40", "requeue",
	    "end 1 0", "run", "tell", "+41", "effects => signal 1.2 10" } },
	{ "the clock of an attempt begins when it has started",
	  { "submit time=60s", "plan", "+1000", "started", "+60", "jobs => 1 R",
	    "+1", "jobs => 1 CG" } },
	{ "a clock that is set ahead ends no job",
	  { "submit time=60s", "run", "tell", "+40", "leap 86400",
	    "jobs => 1 R", "+20", "jobs => 1 R", "+1", "jobs => 1 CG" } },
	{ "a clock that is set back spares none",
	  { "submit time=60s", "run", "tell", "+40", "leap -86400", "+20",
	    "jobs => 1 R", "+1", "jobs => 1 CG" } },
	{ "a clock that is set begins what may begin by then",
	  { "submit begin=now+3600", "plan", "jobs => 1 PD BeginTime",
	    "leap 3600", "+0", "run", "jobs => 1 R" } },
	{ "a clock that is set leaves the grace",
	  { "submit time=60s grace=30s", "run", "tell", "cancel 1", "tell",
	    "leap 86400", "jobs => 1 CG" } },
};

START_TEST(timing_case)
{
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, cases[_i].name, cases[_i].step);
	world_fini(&w);
}
END_TEST

/* Alarms of jobs that ended long before their limits are removed. */
START_TEST(alarms_of_ended_jobs_go)
{
	struct world w;

	world_with_node(&w, NULL);
	for (int i = 0; i < 2000; i++) {
		uint64_t id = world_submit(&w, "time=1d");

		world_run(&w);
		world_end(&w, id, 0);
		world_commit(&w);
	}
	ck_assert_uint_lt(world_alarms(&w), 100);
	world_fini(&w);
}
END_TEST

SUITE(timing)
{
	tcase_add_loop_test(tc, timing_case, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, alarms_of_ended_jobs_go);
}
