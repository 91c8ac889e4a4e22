/* test_local_files.c - outputs, inputs and the temporary folder of a job */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/run/local/world.h"

LOCAL_TEST(names_of_files_are_expanded)
{
	lw_run_job(w, JOB(.id = 17, .script = "echo out; echo err >&2",
	                  .output = "a/%x/o-%j-%t.%%", .error = "e-%A_%a",
	                  .array_job = 12, .array_task = 3));
	ck_assert_str_eq(lw_content(w, "a/job/o-17-0.%"), "out\n");
	ck_assert_str_eq(lw_content(w, "e-12_3"), "err\n");
}

LOCAL_TEST(tasks_share_one_file)
{
	const char *text;

	lw_run_job(w, JOB(.tasks = 2, .script = "echo $RANK/$WORLD_SIZE",
	                  .cpus_milli = 500));
	text = lw_content(w, "out");
	ck_assert_msg(!strcmp(text, "0/2\n1/2\n") ||
	                  !strcmp(text, "1/2\n0/2\n"),
	              "%s", text);
}

LOCAL_TEST(output_is_truncated_or_appended_to)
{
	lw_run_job(w, JOB(.script = "echo one"));
	lw_run_job(w, JOB(.id = 2, .script = "echo two"));
	ck_assert_str_eq(lw_content(w, "out"), "two\n");
	lw_run_job(w, JOB(.id = 3, .script = "echo three", .append = true));
	ck_assert_str_eq(lw_content(w, "out"), "two\nthree\n");
}

LOCAL_TEST(input_and_arguments_arrive)
{
	lw_run_job(w, JOB(.script = "echo hello"));
	lw_run_job(w, JOB(.id = 2, .script = "cat; echo \"$#:$1:$2\"",
	                  .input = "out", .output = "out2",
	                  .args = "[\"a b\", \"\"]"));
	ck_assert_str_eq(lw_content(w, "out2"), "hello\n2:a b:\n");
	/* Without an input file the job reads an end of file. */
	lw_run_job(w, JOB(.id = 3, .script = "cat; echo end"));
	ck_assert_str_eq(lw_content(w, "out"), "end\n");
}

LOCAL_TEST(pipes_and_devices_are_fine_as_output)
{
	lw_make_pipe(w, "pipe");
	/* Nobody reads the pipe: the job must neither hang nor be killed by
	 * SIGPIPE. */
	lw_run_job(w, JOB(.script = "echo lost", .output = "pipe"));
	lw_run_job(w,
	           JOB(.id = 2, .script = "echo lost", .output = "/dev/null"));
}

LOCAL_TEST(it_has_a_folder_of_its_own_for_a_while)
{
	char path[8192];
	pid_t shepherd;

	lw_run_job(w, JOB(.script = "cd $TMPDIR && mkdir -p a/b && "
	                            "touch a/b/c && ln -s /etc l && "
	                            "chmod 0 a/b && pwd",
	                  .env = "TMPDIR=/nowhere"));
	snprintf(path, sizeof(path), "%s", lw_content(w, "out"));
	path[strcspn(path, "\n")] = '\0';
	ck_assert_int_eq(path[0], '/');
	shepherd = lw_read_claim(w, 1).pid;
	lw_forget(w, 1);
	lw_run_job(w, JOB(.id = 2, .script = "true"));
	lw_wait_gone(shepherd);
	ck_assert_ptr_nonnull(strstr(path, "/tmp/aisched-1.1-"));
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(access("/etc/passwd", F_OK), 0);
}

/* If a shepherd is killed, the daemon removes the temporary folder of its
 * job. */
LOCAL_TEST(the_folder_of_a_killed_shepherd_goes_too)
{
	char path[256];

	lw_start_ready(w, JOB(.script = "mkdir -p $TMPDIR/a/b; pwd; echo "
	                                "$TMPDIR; echo up >pipe; exec sleep "
	                                "1000"));
	snprintf(path, sizeof(path), "%s",
	         strchr(lw_content(w, "out"), '\n') + 1);
	path[strcspn(path, "\n")] = '\0';
	ck_assert_int_eq(access(path, F_OK), 0);
	kill(lw_read_claim(w, 1).pid, SIGKILL);
	lw_expect(w, RUN_LOST, 1);
	lw_forget(w, 1);
	ck_assert_int_eq(access(path, F_OK), -1);
}

SUITE(local_files)
{
	const TTest *const tests[] = {
		names_of_files_are_expanded,
		tasks_share_one_file,
		output_is_truncated_or_appended_to,
		input_and_arguments_arrive,
		pipes_and_devices_are_fine_as_output,
		it_has_a_folder_of_its_own_for_a_while,
		the_folder_of_a_killed_shepherd_goes_too,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_loop_test(tc, tests[i], 0, LOCAL_MODES);
}
