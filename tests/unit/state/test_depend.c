/* test_depend.c - jobs that depend on other jobs */
#include "aischedd/state/life/alarm.h"
#include "libcommon/steps.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

static const struct {
	const char *name;
	const char *step[24];
} cases[] = {
	{ "after: it has started",
	  { "submit", "submit dependency=after:1", "plan",
	    "jobs => 1 CF, 2 PD Dependency", "started 1",
	    "jobs => 1 R, 2 PD Unevaluated" } },
	{ "after: it was cancelled before it started",
	  { "submit hold", "submit dependency=after:1", "cancel 1",
	    "jobs => 1 CA Cancelled, 2 PD Unevaluated" } },
	{ "after: so many minutes later",
	  { "submit", "submit dependency=after:1+2", "run", "+119",
	    "jobs => 1 R, 2 PD Dependency", "+1",
	    "jobs => 1 R, 2 PD Unevaluated" } },
	{ "after: so many minutes after it started, though it has ended",
	  { "submit", "run", "+60", "end 1 0", "commit",
	    "submit dependency=after:1+2", "+59", "jobs => 2 PD Dependency",
	    "+1", "jobs => 2 PD Unevaluated" } },
	{ "after an array: all of it has started",
	  { "submit array=0-4", "submit dependency=after:1", "run",
	    "jobs => 1_[4] PD Resources, 2 PD Dependency, 1_0 R, 1_1 R, "
	    "1_2 R, 1_3 R",
	    "end 3 0", "commit", "run",
	    "jobs => 2 PD Unevaluated, 1_1 R, 1_2 R, 1_3 R, 1_4 R" } },
	{ "after an array: so many minutes after its last start",
	  { "submit array=0-1", "submit dependency=after:1+1", "+5", "run",
	    "+59", "jobs => 2 PD Dependency, 1_0 R, 1_1 R", "+1",
	    "jobs => 2 PD Unevaluated, 1_0 R, 1_1 R" } },
	{ "after an array of which a part is held",
	  { "submit array=0-1", "split 1 1", "hold 2",
	    "submit dependency=after:1", "run",
	    "jobs => 1_1 PD JobHeldUser, 3 PD Dependency, 1_0 R" } },
	{ "afterany: it has ended, somehow",
	  { "submit", "submit dependency=afterany:1", "run",
	    "jobs => 1 R, 2 PD Dependency", "end 1 1",
	    "jobs => 1 F NonZeroExitCode, 2 PD Unevaluated" } },
	{ "afterok: it has ended well",
	  { "submit", "submit dependency=afterok:1", "run", "end 1 0",
	    "jobs => 1 CD, 2 PD Unevaluated" } },
	{ "afterok: it has not, which is said",
	  { "submit", "submit dependency=afterok:1", "run",
	    "why 2 => Dependency: waits for afterok:1; job 1 is RUNNING",
	    "end 1 1",
	    "jobs => 1 F NonZeroExitCode, 2 PD DependencyNeverSatisfied",
	    "why 2 => DependencyNeverSatisfied: waits for afterok:1; job 1 "
	    "ended in another way: this can no longer be met",
	    "cancel 2", "jobs => 1 F NonZeroExitCode, 2 CA Dependency" } },
	{ "kill-on-invalid-dep: a chain of jobs ends",
	  { "submit", "submit dependency=afterok:1 kill-on-invalid-dep=yes",
	    "submit dependency=afterok:2 kill-on-invalid-dep=yes",
	    "submit dependency=afterok:1 kill-on-invalid-dep=no", "run",
	    "end 1 1", "+0", "+0", "commit",
	    "jobs => 4 PD DependencyNeverSatisfied" } },
	{ "kill-on-invalid-dep: it ends at once",
	  { "submit", "submit dependency=afterok:1 kill-on-invalid-dep=yes",
	    "run", "end 1 1", "+0",
	    "jobs => 1 F NonZeroExitCode, 2 CA Dependency" } },
	{ "kill-on-invalid-dep: its dependency is met",
	  { "submit", "submit dependency=afterok:1 kill-on-invalid-dep=yes",
	    "run", "end 1 0", "+0", "jobs => 1 CD, 2 PD Unevaluated" } },
	{ "kill-on-invalid-dep: not while it is held",
	  { "submit",
	    "submit hold dependency=afterok:1 kill-on-invalid-dep=yes", "run",
	    "end 1 1", "+0", "jobs => 1 F NonZeroExitCode, 2 PD JobHeldUser",
	    "release 2", "+0",
	    "jobs => 1 F NonZeroExitCode, 2 CA Dependency" } },
	{ "kill-on-invalid-dep: what failed before",
	  { "submit", "run", "end 1 1", "commit",
	    "submit dependency=afterok:1 kill-on-invalid-dep=yes", "+0",
	    "jobs => 2 CA Dependency" } },
	{ "kill-on-invalid-dep: set when it can no longer be met",
	  { "submit", "submit dependency=afterok:1", "run", "end 1 1", "commit",
	    "update 2 kill-on-invalid-dep=yes", "+0",
	    "jobs => 2 CA Dependency" } },
	{ "kill-on-invalid-dep: one of two may be met",
	  { "submit", "submit",
	    "submit dependency=afterok:1?afterok:2 kill-on-invalid-dep=yes",
	    "run", "end 1 1", "+0",
	    "jobs => 1 F NonZeroExitCode, 2 R, 3 PD Dependency" } },
	{ "kill-on-invalid-dep: the whole array, or its task",
	  { "submit array=0-1",
	    "submit array=0-1 dependency=aftercorr:1 "
	    "kill-on-invalid-dep=yes",
	    "run", "end 3 1", "end 4 0", "+0", "commit",
	    "submit array=0-1 dependency=afterok:1 "
	    "kill-on-invalid-dep=yes",
	    "+0", "jobs => 2_1 PD Unevaluated, 7_[0-1] CA Dependency" } },
	{ "afternotok: it has failed",
	  { "submit", "submit dependency=afternotok:1",
	    "submit dependency=afternotok:1", "run", "end 1 1",
	    "jobs => 1 F NonZeroExitCode, 2 PD Unevaluated, 3 PD Unevaluated" } },
	{ "afternotok: it has not failed",
	  { "submit", "submit dependency=afternotok:1", "run", "end 1 0",
	    "jobs => 1 CD, 2 PD DependencyNeverSatisfied" } },
	{ "a requeued job has not ended",
	  { "submit", "submit dependency=afterany:1", "run", "requeue",
	    "end 1 0", "jobs => 1 PD Unevaluated, 2 PD Dependency" } },
	{ "several, all of them",
	  { "submit", "submit", "submit dependency=afterok:1:2,after:1", "run",
	    "depend 3 => afterok:1,afterok:2", "end 1 0",
	    "depend 3 => afterok:2", "end 2 0",
	    "jobs => 1 CD, 2 CD, 3 PD Unevaluated" } },
	{ "several, any of them",
	  { "submit", "submit hold", "submit dependency=afterok:1?afterok:2",
	    "run", "end 1 0",
	    "jobs => 1 CD, 2 PD JobHeldUser, 3 PD "
	    "Unevaluated" } },
	{ "any of them: one that can no longer be met does not matter",
	  { "submit", "submit", "submit dependency=afterok:1?afterok:2", "run",
	    "end 1 1", "jobs => 1 F NonZeroExitCode, 2 R, 3 PD Dependency",
	    "end 2 0",
	    "jobs => 1 F NonZeroExitCode, 2 CD, 3 PD Unevaluated" } },
	{ "any of them: none can be met",
	  { "submit", "submit", "submit dependency=afterok:1?afterok:2", "run",
	    "end 1 1", "end 2 1", "commit",
	    "jobs => 3 PD DependencyNeverSatisfied" } },
	{ "an array: all of it ended well",
	  { "submit array=0-1", "submit dependency=afterok:1", "run", "end 3 0",
	    "commit", "jobs => 2 PD Dependency, 1_1 R", "end 4 0",
	    "jobs => 2 PD Unevaluated, 1_1 CD" } },
	{ "an array: one task failed",
	  { "submit array=0-1", "submit dependency=afterok:1",
	    "submit dependency=afternotok:1", "run", "end 4 1", "commit",
	    "end 5 0", "commit",
	    "jobs => 2 PD DependencyNeverSatisfied, 3 PD Unevaluated" } },
	{ "one task of an array",
	  { "submit array=0-5", "submit dependency=afterok:1_3", "run",
	    "end 5 0",
	    "jobs => 1_[4-5] PD Resources, 2 PD Dependency, "
	    "1_0 R, 1_1 R, 1_2 CD, 1_3 R",
	    "end 6 0", "commit", "run", "submit dependency=afterok:1_3",
	    "jobs => 2 PD Resources, 1_0 R, 1_1 R, 1_4 R, 1_5 R, 9 PD "
	    "Resources" } },
	{ "aftercorr: each task waits for its own",
	  { "submit array=0-2", "submit array=0-2 dependency=aftercorr:1",
	    "run", "end 4 0",
	    "jobs => 2_[0,2] PD Dependency, 1_0 R, 1_1 CD, 1_2 R, 2_1 PD "
	    "Unevaluated",
	    "end 3 1", "end 5 0", "commit", "run",
	    "jobs => 2_1 R, 2_0 PD DependencyNeverSatisfied, 2_2 R" } },
	{ "aftercorr: what has ended before",
	  { "submit array=0-2", "run", "end 2 0", "end 3 1", "commit",
	    "submit array=0-2 dependency=aftercorr:1",
	    "jobs => 1_2 R, 5_[2] PD Dependency, 5_0 PD Unevaluated, 5_1 PD "
	    "DependencyNeverSatisfied" } },
	{ "aftercorr: all have ended before",
	  { "submit array=0-1", "run", "end 2 0", "end 3 0", "commit",
	    "submit array=0-1 dependency=aftercorr:1", "run",
	    "jobs => 4_0 R, 4_1 R" } },
	{ "aftercorr of a plain job is afterok",
	  { "submit", "submit array=0-1 dependency=aftercorr:1", "run",
	    "jobs => 1 R, 2_[0-1] PD Dependency", "end 1 0", "commit", "run",
	    "jobs => 2_0 R, 2_1 R" } },
	{ "aftercorr with other conditions",
	  { "submit array=0-1", "submit hold",
	    "submit array=0-1 dependency=aftercorr:1,afterany:2", "run",
	    "end 4 0", "commit",
	    "jobs => 2 PD JobHeldUser, 3_[1] PD Dependency, 1_1 R, 3_0 PD "
	    "Dependency",
	    "cancel 2",
	    "jobs => 2 CA Cancelled, 3_[1] PD Dependency, 1_1 R, "
	    "3_0 PD Unevaluated" } },
	{ "singleton: one of a name at a time",
	  { "submit job-name=a", "submit job-name=b",
	    "submit job-name=a dependency=singleton",
	    "submit job-name=a dependency=singleton", "run",
	    "jobs => 1 R, 2 R, 3 PD Dependency, 4 PD Dependency", "end 2 0",
	    "end 1 0", "run", "jobs => 1 CD, 2 CD, 3 R, 4 PD Dependency" } },
	{ "singleton: nobody else of this name",
	  { "submit job-name=a dependency=singleton", "run", "jobs => 1 R" } },
	{ "a job that has gone",
	  { "submit", "run", "end 1 0", "commit", "submit dependency=afterok:1",
	    "jobs => 2 PD Unevaluated", "submit dependency=afternotok:1",
	    "jobs => 2 PD Unevaluated, 3 PD DependencyNeverSatisfied" } },
	{ "no such job",
	  { "submit",
	    "submit dependency=afterok:1:7 => ! there is no job 7 to depend "
	    "on",
	    "submit dependency=afterok:1_3 => ! there is no job 1_3 to depend "
	    "on",
	    "jobs => 1 PD Unevaluated" } },
	{ "no such task of an array",
	  { "submit array=0-2",
	    "submit dependency=afterok:1_3 => ! there is no job 1_3 to depend "
	    "on" } },
	{ "both ways of joining",
	  { "submit", "submit hold",
	    "update 2 dependency=afterok:1?afterok:1,after:1 "
	    "=> ! --dependency: bad dependency "
	    "'afterok:1?afterok:1,after:1': use ',' (all) or "
	    "'?' (any), not both" } },
	{ "it can be changed, and taken away",
	  { "submit", "submit dependency=afterok:1",
	    "update 2 dependency=afternotok:1", "depend 2 => afternotok:1",
	    "update 2 dependency=",
	    "jobs => 1 PD Unevaluated, 2 PD "
	    "Unevaluated" } },
	{ "a job cannot wait for itself",
	  { "submit",
	    "update 1 dependency=afterok:1 => ! job 1 cannot wait for itself",
	    "jobs => 1 PD Unevaluated" } },
	{ "an array that is given aftercorr while it waits",
	  { "submit array=0-1", "run", "end 2 0", "end 3 0", "commit",
	    "submit array=0-1", "update 4 dependency=aftercorr:1",
	    "jobs => 4_0 PD Unevaluated, 4_1 PD Unevaluated" } },
};

START_TEST(depend_case)
{
	struct world w;

	world_with_node(&w, NULL);
	world_play(&w, cases[_i].name, cases[_i].step);
	world_fini(&w);
}
END_TEST

/* --- amount of work ---------------------------------------------------- */

enum { MANY = 400 };

static void put_ids(struct buf *out, const char *before, int n)
{
	buf_clear(out);
	buf_puts(out, before);
	for (int i = 1; i <= n; i++)
		buf_printf(out, ":%d", i);
}

/* Check that the work since the last check fits into a turn of the daemon. */
static void check_steps(uint64_t *before)
{
	ck_assert_uint_lt(steps_so_far - *before, 2 * STEPS_SLICE);
	*before = steps_so_far;
}

static void tell_all(struct world *w)
{
	uint64_t before = steps_so_far;

	while (state_next_tick(w->state) == 0) {
		world_tick(w, 0);
		check_steps(&before);
	}
}

/* Many jobs depend on many other jobs each. When these end, the work is divided
 * among turns of the daemon's loop. */
START_TEST(many_hear_of_many_in_slices)
{
	struct world w;
	struct buf text = { 0 };
	uint64_t before;

	world_with_node(&w, NULL);
	for (int i = 0; i < MANY; i++)
		world_submit(&w, "hold");
	put_ids(&text, "dependency=afterany", MANY);
	before = steps_so_far;
	for (int i = 0; i < MANY; i++) {
		world_submit(&w, text.data);
		check_steps(&before);
	}
	for (uint64_t id = 1; id <= MANY; id++) {
		world_event(&w, id, EV_cancel);
		check_steps(&before);
	}
	tell_all(&w);
	for (uint64_t id = MANY + 1; id <= 2 * MANY; id++)
		ck_assert_ptr_null(state_job(w.state, id)->deps);
	buf_free(&text);
	world_fini(&w);
}
END_TEST

/* Many jobs depend on jobs that only the history knows: the store is asked only
 * once about each of these. */
START_TEST(what_has_gone_is_asked_for_once)
{
	struct world w;
	struct buf text = { 0 };
	uint64_t before;

	world_with_node(&w, NULL);
	for (int i = 1; i <= MANY; i++) {
		world_submit(&w, "hold");
		world_event(&w, (uint64_t)i, EV_cancel);
	}
	world_play(&w, "", (const char *[]){ "commit", NULL });
	put_ids(&text, "dependency=afterok", MANY);
	before = steps_so_far;
	for (int i = 0; i < MANY; i++) {
		world_submit(&w, text.data);
		check_steps(&before);
	}
	buf_free(&text);
	world_fini(&w);
}
END_TEST

/* A job has many dependencies whose delays end one after the other. Each delay
 * needs an alarm. */
START_TEST(delays_take_an_alarm_each)
{
	struct world w;
	struct buf text = { 0 };
	uint64_t before;

	world_with_node(&w, NULL);
	world_submit(&w, "");
	world_run(&w);
	buf_puts(&text, "dependency=after");
	for (int i = 1; i <= 50; i++)
		buf_printf(&text, ":1+%d", i);
	world_submit(&w, text.data);
	before = steps_so_far;
	for (int i = 1; i <= 50; i++) {
		ck_assert_ptr_nonnull(state_job(w.state, 2)->deps);
		world_tick(&w, 60);
	}
	ck_assert_ptr_null(state_job(w.state, 2)->deps);
	ck_assert_uint_lt(steps_so_far - before, 10000);
	buf_free(&text);
	world_fini(&w);
}
END_TEST

START_TEST(corresponding_tasks_leave_in_slices)
{
	struct world w;
	uint64_t before;

	world_with_node(&w, NULL);
	world_submit(&w, "array=0-49999 hold");
	world_event(&w, 1, EV_cancel);
	world_play(&w, "", (const char *[]){ "commit", NULL });
	before = steps_so_far;
	world_submit(&w, "array=0-49999 dependency=aftercorr:1");
	check_steps(&before);
	tell_all(&w);
	ck_assert_ptr_null(state_job(w.state, 2));
	world_fini(&w);
}
END_TEST

START_TEST(they_leave_in_smaller_slices_in_a_turn_that_has_done_much)
{
	struct world w;
	uint64_t before;

	world_with_node(&w, NULL);
	world_submit(&w, "array=0-49999 hold");
	world_event(&w, 1, EV_cancel);
	world_play(&w, "", (const char *[]){ "commit", NULL });
	world_submit(&w, "array=0-49999 dependency=aftercorr:1");
	steps_begin_turn();
	steps_add(STEPS_TURN);
	before = steps_so_far;
	world_tick(&w, 0);
	ck_assert_uint_ge(steps_so_far - before, STEPS_LEAST);
	ck_assert_uint_lt(steps_so_far - before, 2 * STEPS_LEAST);
	world_fini(&w);
}
END_TEST

static uint64_t count_jobs(const struct world *w)
{
	uint64_t n = 0;

	for (const struct job *job = state_first_job(w->state); job;
	     job = job->all_next)
		n++;
	return n;
}

/* Many jobs can never start, because a job on which all of them depend has
 * failed, and are to be cancelled then: a turn cancels some of them, because
 * the store has to write each of these ends. */
START_TEST(jobs_that_can_never_start_end_in_slices)
{
	enum { JOBS = 5000, MOST = STEPS_SLICE / 100 + 1 };
	struct world w;
	uint64_t before, left = JOBS;

	world_with_node(&w, NULL);
	world_submit(&w, "hold");
	for (int i = 0; i < JOBS; i++)
		world_submit(&w,
		             "dependency=afterok:1 kill-on-invalid-dep=yes");
	world_event(&w, 1, EV_cancel);
	world_play(&w, "", (const char *[]){ "commit", NULL });
	while (left) {
		uint64_t was = left;

		before = steps_so_far;
		w.now++;
		state_tick(w.state, w.now);
		check_steps(&before);
		world_play(&w, "", (const char *[]){ "commit", NULL });
		left = count_jobs(&w);
		ck_assert_uint_le(was - left, MOST);
		ck_assert_uint_lt(left, was);
	}
	world_fini(&w);
}
END_TEST

/* An array is split into one record for each task, and all of them wait for
 * older jobs of their name. One end makes all these be judged again, at the
 * price of a walk or two through the list of that name. */
START_TEST(the_oldest_of_a_name_is_looked_for_once)
{
	enum { TASKS = 300 };
	struct world w;
	uint64_t before;
	char step[64];

	world_with_node(&w, NULL);
	world_submit(&w, "hold");
	world_submit(&w, "hold");
	world_submit(&w, "array=0-299 hold");
	for (int i = 1; i < TASKS; i++) {
		snprintf(step, sizeof(step), "split 3 %d", i);
		world_play(&w, "", (const char *[]){ step, NULL });
	}
	for (int id = 3; id < 3 + TASKS; id++) {
		snprintf(step, sizeof(step), "update %d dependency=singleton",
		         id);
		before = steps_so_far;
		world_play(&w, "", (const char *[]){ step, NULL });
		ck_assert_uint_lt(steps_so_far - before, 10 * TASKS);
		before = steps_so_far;
		world_tick(&w, 1);
		ck_assert_uint_lt(steps_so_far - before, 10 * TASKS);
	}
	for (int id = 1; id <= 2; id++) {
		before = steps_so_far;
		world_event(&w, (uint64_t)id, EV_cancel);
		ck_assert_uint_lt(steps_so_far - before, 10 * TASKS);
		ck_assert(!state_job(w.state, 3)->deps == (id == 2));
	}
	world_fini(&w);
}
END_TEST

SUITE(depend)
{
	tcase_add_test(tc, many_hear_of_many_in_slices);
	tcase_add_test(tc, jobs_that_can_never_start_end_in_slices);
	tcase_add_test(tc, the_oldest_of_a_name_is_looked_for_once);
	tcase_add_test(tc, what_has_gone_is_asked_for_once);
	tcase_add_test(tc, delays_take_an_alarm_each);
	tcase_add_test(tc, corresponding_tasks_leave_in_slices);
	tcase_add_test(
	    tc, they_leave_in_smaller_slices_in_a_turn_that_has_done_much);
	tcase_add_loop_test(tc, depend_case, 0, ARRAY_SIZE(cases));
}
