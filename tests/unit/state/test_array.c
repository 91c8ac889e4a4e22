/* test_array.c - arrays: parts, limits, ids, counters */
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/life/split.h"
#include "aischedd/state/load.h"
#include "libcommon/steps.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

static const struct {
	const char *name;
	const char *step[24];
} cases[] = {
	{ "waiting tasks are one record, started ones have ids of their own",
	  { "submit array=0-5", "jobs => 1_[0-5] PD Unevaluated", "run",
	    "jobs => 1_[4-5] PD Resources, 1_0 R, 1_1 R, 1_2 R, 1_3 R", "tell",
	    "end 2 0", "effects => forget 2.1", "run", "end 3 0", "commit",
	    "run", "jobs => 1_2 R, 1_3 R, 1_4 R, 1_5 R" } },
	{ "no more than its limit run at once",
	  { "submit array=0-5%2", "run",
	    "jobs => 1_[2-5%2] PD ArrayLimit, 1_0 R, 1_1 R",
	    "why 1 => ArrayLimit: *", "end 2 0", "run",
	    "jobs => 1_[3-5%2] PD ArrayLimit, 1_0 CD, 1_1 R, 1_2 R" } },
	{ "others wait for a task by its index, for as long as is left",
	  { "submit array=0-1 cpus-per-task=2 time=10", "run", "tell",
	    "submit cpus-per-task=4", "plan",
	    "why 4 => Resources: *; waits for job 1_0 to end (in 10m at "
	    "the latest)",
	    "+200",
	    "why 4 => Resources: *; waits for job 1_0 to end (in 6m 40s "
	    "at the latest)" } },
	{ "a job behind them is told when the last of them ends",
	  { "submit array=0-5%2 cpus-per-task=2 time=10", "run",
	    "submit cpus-per-task=4 time=10", "plan", "turn 1 => 1 at 600",
	    "turn 4 => 5 at 1800", "+600", "end 2 0", "end 3 0", "run",
	    "turn 4 => 3 at 1200" } },
	{ "the limit can be changed",
	  { "submit array=0-5%1", "run", "update 1 array_limit=3", "run",
	    "jobs => 1_[3-5%3] PD ArrayLimit, 1_0 R, 1_1 R, 1_2 R",
	    "update 1 array_limit=0", "run",
	    "jobs => 1_[4-5] PD Resources, 1_0 R, 1_1 R, 1_2 R, 1_3 R" } },
	{ "a suspended task counts against the limit",
	  { "submit array=0-5%1", "run", "suspend 2", "run",
	    "jobs => 1_[1-5%1] PD ArrayLimit, 1_0 S JobHeldAdmin" } },
	{ "the limit binds its parts together",
	  { "submit array=0-5%2", "split 1 3-5", "run",
	    "jobs => 1_[2%2] PD ArrayLimit, 1_[3-5%2] PD ArrayLimit, "
	    "1_0 R, 1_1 R" } },
	{ "a part is cancelled, the rest goes on",
	  { "submit array=0-9", "split 1 2-4,7", "cancel 2",
	    "jobs => 1_[0-1,5-6,8-9] PD Unevaluated, 1_[2-4,7] CA Cancelled",
	    "commit", "jobs => 1_[0-1,5-6,8-9] PD Unevaluated" } },
	{ "one task that waits is cancelled",
	  { "submit array=0-2", "split 1 1", "cancel 2",
	    "jobs => 1_[0,2] PD Unevaluated, 1_1 CA Cancelled" } },
	{ "all of it is cancelled",
	  { "submit array=0-2", "run", "cancel 2", "end 2 0",
	    "jobs => 1_0 CA Cancelled, 1_1 R, 1_2 R", "cancel 3", "cancel 4",
	    "end 3 0", "end 4 0", "commit", "jobs =>" } },
	{ "a task that is requeued waits under its own id",
	  { "submit array=0-3", "run", "requeue 3", "end 3 0",
	    "jobs => 1_0 R, 1_1 PD Unevaluated, 1_2 R, 1_3 R", "run",
	    "jobs => 1_0 R, 1_1 R, 1_2 R, 1_3 R" } },
	{ "a part is held",
	  { "submit array=0-9", "split 1 0-7", "hold 2", "run",
	    "jobs => 1_[0-7] PD JobHeldUser, 1_8 R, 1_9 R" } },
	{ "its tasks are found when the first part is gone",
	  { "submit array=0-9", "split 1 4-9", "hold 2", "run", "end 3 0",
	    "end 4 0", "end 5 0", "end 6 0", "commit",
	    "jobs => 1_[4-9] PD JobHeldUser", "split 1 4", "cancel 7",
	    "jobs => 1_[5-9] PD JobHeldUser, 1_4 CA Cancelled" } },
	{ "steps and gaps",
	  { "submit array=1-7:3,20", "run",
	    "jobs => 1_1 R, 1_4 R, 1_7 R, 1_20 R" } },
	{ "an array of one task",
	  { "submit array=7", "jobs => 1_[7] PD Unevaluated", "run",
	    "jobs => 1_7 R", "end 2 0", "commit", "jobs =>" } },
};

START_TEST(array_case)
{
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, cases[_i].name, cases[_i].step);
	world_fini(&w);
}
END_TEST

START_TEST(counters_are_right_to_the_end)
{
	struct world w;
	const struct array *array;

	world_with_node(&w, NULL);
	world_play(&w, "",
	           (const char *const[]){ "submit array=0-9 cpus-per-task=2",
	                                  "split 1 8-9", "cancel 2", "run",
	                                  "end 3 0", "end 4 1", NULL });
	array = state_array(w.state, 1);
	ck_assert_uint_eq(array->count, 10);
	ck_assert_uint_eq(array->unfinished, 6);
	ck_assert_uint_eq(array->failed, 3);
	ck_assert_uint_eq(array->running, 0);
	ck_assert_uint_eq(state_queue_count(w.state, 0, false), 6);
	world_commit(&w);
	for (int i = 0; i < 3; i++) {
		struct job *job;

		world_run(&w);
		ck_assert_uint_eq(state_queue_count(w.state, 0, true), 2);
		for (job = state_first_job(w.state); job; job = job->all_next)
			if (job->state == JOB_RUNNING)
				world_end(&w, job->id, 0);
		world_commit(&w);
	}
	ck_assert_ptr_null(state_array(w.state, 1));
	ck_assert_ptr_null(state_first_job(w.state));
	ck_assert_uint_eq(state_queue_count(w.state, 0, false), 0);
	for (int s = 0; s < JOB_NSTATES; s++)
		ck_assert_uint_eq(state_counts(w.state)[s], 0);
	world_fini(&w);
}
END_TEST

/* When all tasks of an array have started, the changes have a record for each
 * task, and the id of the array's record, which no longer exists. */
START_TEST(records_that_dissolve_are_forgotten)
{
	struct changes changes;
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "array=0-1");
	world_commit(&w);
	world_run(&w);
	state_changes(w.state, &changes);
	ck_assert_uint_eq(changes.njobs, 2);
	ck_assert_uint_eq(changes.ngone, 1);
	ck_assert_uint_eq(changes.gone[0], 1);
	ck_assert_uint_eq(changes.next_id, 4);
	world_fini(&w);
}
END_TEST

START_TEST(each_task_knows_its_array)
{
	const char *names[1];
	struct run_job run;
	struct request req;
	struct spec spec;
	struct world w;

	world_with_node(&w, NULL);
	world_submit(&w, "array=2-8:3");
	world_plan(&w);
	state_run_job(w.state, state_task(w.state, 1, 5), &spec, &req, names,
	              &run);
	ck_assert_uint_eq(run.job, 3);
	ck_assert_uint_eq(run.array_job, 1);
	ck_assert_uint_eq(run.array_task, 5);
	ck_assert_uint_eq(run.array_count, 3);
	ck_assert_uint_eq(run.array_min, 2);
	ck_assert_uint_eq(run.array_max, 8);
	ck_assert_uint_eq(run.array_step, 3);
	ck_assert_str_eq(names[0], "n0");
	ck_assert_ptr_null(state_task(w.state, 1, 3));
	world_fini(&w);
}
END_TEST

/* Half of the tasks have records of their own. The other half has one, and is
 * found there without a look at the others. */
START_TEST(tasks_are_found_without_a_walk)
{
	enum { N = 1000 };
	struct world w;
	struct job *part;
	uint64_t before;

	world_init(&w, NULL);
	world_submit(&w, "array=0-999");
	for (uint32_t i = 0; i < N; i += 2)
		state_split_task(w.state, state_task(w.state, 1, i), i);
	part = state_task(w.state, 1, 1);
	ck_assert_uint_eq(part->task, NO_TASK);
	before = steps_so_far;
	for (uint32_t i = 0; i < N; i++) {
		const struct job *job = state_task(w.state, 1, i);

		ck_assert(i % 2 ? job == part : job->task == i);
		ck_assert_ptr_null(state_task(w.state, 1, N + i));
	}
	ck_assert_uint_le(steps_so_far - before, 2 * N);
	world_check(&w);
	world_fini(&w);
}
END_TEST

SUITE(array)
{
	tcase_add_loop_test(tc, array_case, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, counters_are_right_to_the_end);
	tcase_add_test(tc, records_that_dissolve_are_forgotten);
	tcase_add_test(tc, each_task_knows_its_array);
	tcase_add_test(tc, tasks_are_found_without_a_walk);
}
