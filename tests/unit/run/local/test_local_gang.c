/* test_local_gang.c - tasks of a job that fail, are replaced, are added and
 * end */
#include <signal.h>
#include <string.h>

#include "tests/unit/run/local/world.h"

LOCAL_TEST(a_gang_ends_with_its_first_failure)
{
	lw_start(w, JOB(.tasks = 3, .grace = 1000, .cpus_milli = 500,
	                .script = "[ $RANK != 1 ] || exit 3; "
	                          "exec sleep 1000"));
	lw_expect(w, RUN_STARTED, 1);
	ck_assert_int_eq(lw_expect(w, RUN_ENDED, 1)->out.exit_code, 3);
	ck_assert_str_eq(lw_content(w, "out"),
	                 "aischedd: error: task 1 ended with exit status "
	                 "3, ending the others\n");
}

LOCAL_TEST(the_others_can_read_which_task_failed)
{
	lw_start(w,
	         JOB(.tasks = 2, .grace = 1000, .cpus_milli = 500,
	             .script = "if [ $RANK = 1 ]; then\n"
	                       "until [ -e up ]; do sleep 0.05; done; exit 3\n"
	                       "fi\n"
	                       "trap 'cat \"$AISCHED_END_FILE\" >why; exit' "
	                       "TERM\n"
	                       ">up; while :; do sleep 0.05; done"));
	lw_expect(w, RUN_STARTED, 1);
	ck_assert_int_eq(lw_expect(w, RUN_ENDED, 1)->out.exit_code, 3);
	ck_assert_str_eq(lw_content(w, "why"),
	                 "failed task 1 ended with exit status 3\n");
}

LOCAL_TEST(a_task_that_succeeds_ends_nobody)
{
	lw_make_pipe(w, "go");
	/* The second task waits until the first one has ended. */
	lw_start(w, JOB(.tasks = 2, .cpus_milli = 500,
	                .script = "[ $RANK = 1 ] || { echo $$ >go; "
	                          "exit 0; }; read pid <go; "
	                          "while kill -0 $pid 2>/dev/null; do "
	                          "sleep 0.01; done; echo alone; "
	                          "exit 4"));
	lw_expect(w, RUN_STARTED, 1);
	ck_assert_int_eq(lw_expect(w, RUN_ENDED, 1)->out.exit_code, 4);
	ck_assert_str_eq(lw_content(w, "out"), "alone\n");
}

/* Processes that the failed task left behind are killed first, even those in a
 * session of their own. */
LOCAL_TEST(a_task_that_failed_is_replaced_alone)
{
	const struct local_seen *s;

	lw_make_pipe(w, "go");
	lw_start(w, JOB(.tasks = 2, .cpus_milli = 500,
	                .on_task_failure = "replace", .output = "out-%t",
	                .script = "echo $RANK/$WORLD_SIZE\n"
	                          "[ $RANK = 1 ] || { read x <go; exit; }\n"
	                          "if [ -e left ]; then\n"
	                          "grep -qs sleep /proc/$(cat left)/cmdline "
	                          "&& echo left\n"
	                          "echo x >go; exit\nfi\n"
	                          "setsid sleep 1000 & echo $! >left\n"
	                          "while ! grep -qs sleep /proc/$!/cmdline\n"
	                          "do sleep 0.01; done\n"
	                          "exit 3"));
	lw_expect(w, RUN_STARTED, 1);
	s = lw_expect(w, RUN_REPLACED, 1);
	ck_assert_uint_eq(s->replaced, 1);
	ck_assert_str_eq(s->text,
	                 "task 1 ended with exit status 3 and starts again");
	ck_assert_int_eq(lw_expect(w, RUN_ENDED, 1)->out.exit_code, 0);
	/* Each text is there once, in any order. */
	ck_assert_uint_eq(strlen(lw_content(w, "out-0")),
	                  strlen("0/2\naischedd: error: task 1 ended with exit "
	                         "status 3 and starts again\n"));
	ck_assert_str_eq(
	    lw_content(w, "out-1"),
	    "1/2\naischedd: error: task 1 ended with exit status 3 "
	    "and starts again\n1/2\n");
}

LOCAL_TEST(as_many_are_replaced_as_may_be)
{
	const struct local_seen *s;

	lw_start(w, JOB(.tasks = 2, .cpus_milli = 500, .grace = 1000,
	                .on_task_failure = "replace",
	                .script = "[ $RANK = 1 ] || exec sleep 1000; "
	                          "kill -KILL $$"));
	lw_expect(w, RUN_STARTED, 1);
	lw_expect(w, RUN_REPLACED, 1);
	s = lw_expect(w, RUN_ENDED, 1);
	ck_assert_int_eq(s->out.signal, SIGKILL);
	ck_assert_str_eq(s->text, "task 1 was ended by SIGKILL");
}

/* Log when a task begins and when it gets SIGTERM. A child process writes "up"
 * to pipeRANK. Tests send signals only after this line, because a process that
 * the shell has just forked might lose a signal. `wait` returns at once if a
 * signal has already come; other commands could miss the signal. */
#define ELASTIC                                          \
	"trap 'echo $RANK left >>log; exit 0' TERM; "    \
	"echo $RANK/$WORLD_SIZE >>log; "                 \
	"sh -c 'echo up >pipe$RANK; exec sleep 1000' & " \
	"while :; do wait; done"

static void resize(struct local_world *w, uint32_t tasks, uint32_t number)
{
	lw_order(w,
	         JOB(.tasks = tasks, .most = 3, .grace = 1000, .resize = number,
	             .script = ELASTIC, .cpus_milli = 500),
	         w->r->ops->resize);
	ck_assert_uint_eq(lw_expect(w, RUN_RESIZED, 1)->resize, number);
}

static void start_elastic(struct local_world *w, uint32_t tasks)
{
	static const char *const pipes[] = { "pipe0", "pipe1", "pipe2" };

	for (uint32_t i = 0; i < 3; i++)
		lw_make_pipe(w, pipes[i]);
	lw_start(w, JOB(.tasks = tasks, .most = 3, .script = ELASTIC,
	                .grace = 1000, .cpus_milli = 500));
	lw_expect(w, RUN_STARTED, 1);
	for (uint32_t i = 0; i < tasks; i++)
		lw_hear(w, pipes[i]);
}

LOCAL_TEST(tasks_come_and_the_highest_leave)
{
	start_elastic(w, 1);
	resize(w, 2, 1);
	lw_hear(w, "pipe1");
	resize(w, 3, 2);
	lw_hear(w, "pipe2");
	resize(w, 2, 3);
	ck_assert_str_eq(lw_content(w, "log"), "0/1\n1/2\n2/3\n2 left\n");
	/* After a restart, the daemon repeats the last request to resize. */
	lw_daemon_restarts(w, 1, &(uint64_t){ 1 });
	lw_expect(w, RUN_STARTED, 1);
	lw_expect(w, RUN_SYNCED, 0);
	resize(w, 2, 0);
	resize(w, 3, 4);
	lw_hear(w, "pipe2");
	lw_stop(w, 1, STOP_CANCEL, 1000);
	ck_assert_int_eq(lw_expect(w, RUN_ENDED, 1)->out.exit_code, 0);
	ck_assert_msg(
	    !strncmp(lw_content(w, "log"), "0/1\n1/2\n2/3\n2 left\n2/3\n", 23),
	    "%s", lw_content(w, "log"));
}

LOCAL_TEST(who_leaves_a_suspended_job_hears_of_it)
{
	start_elastic(w, 2);
	w->r->ops->suspend(w->r, 1, 1);
	resize(w, 1, 1);
	ck_assert_ptr_nonnull(strstr(lw_content(w, "log"), "1 left\n"));
	/* The other task was suspended, so it only handles the signal once it
	 * resumes. */
	lw_signal(w, SIGTERM, SIGNAL_job);
	resize(w, 1, 2);
	ck_assert_ptr_null(strstr(lw_content(w, "log"), "0 left\n"));
	lw_resume(w, 0);
	lw_expect(w, RUN_ENDED, 1);
	ck_assert_ptr_nonnull(strstr(lw_content(w, "log"), "0 left\n"));
}

LOCAL_TEST(a_launched_script_runs_once)
{
	lw_run_job(w, JOB(.tasks = 3, .whole = true,
	                  .script = "echo $SLURM_NTASKS ${RANK-none} "
	                            "$SLURM_PROCID"));
	ck_assert_str_eq(lw_content(w, "out"), "3 none 0\n");
}

SUITE(local_gang)
{
	const TTest *const tests[] = {
		a_gang_ends_with_its_first_failure,
		the_others_can_read_which_task_failed,
		a_task_that_succeeds_ends_nobody,
		a_task_that_failed_is_replaced_alone,
		as_many_are_replaced_as_may_be,
		tasks_come_and_the_highest_leave,
		who_leaves_a_suspended_job_hears_of_it,
		a_launched_script_runs_once,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_loop_test(tc, tests[i], 0, LOCAL_MODES);
}
