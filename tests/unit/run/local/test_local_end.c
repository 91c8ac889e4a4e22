/* test_local_end.c - how jobs end and are stopped, and which resources they
 * used */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aischedd/run/shepherd/cgroup.h"
#include "aischedd/run/shepherd/cgroup_find.h"
#include "tests/unit/run/local/world.h"

static const struct {
	const char *name, *script;
	int exit_code, signal;
} ends[] = {
	{ "true", "true", 0, 0 },
	{ "false", "false", 1, 0 },
	{ "an exit status", "exit 7", 7, 0 },
	{ "a signal", "kill -9 $$", 0, SIGKILL },
	{ "another signal", "kill -USR1 $$", 0, SIGUSR1 },
	{ "the highest status", "exit 255", 255, 0 },
};

LOCAL_TEST(ends_are_kept_exactly)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const struct local_seen *s =
		    lw_run_job(w, JOB(.id = i + 1, .script = ends[i].script));

		ck_assert_msg(s->out.exit_code == ends[i].exit_code &&
		                  s->out.signal == ends[i].signal &&
		                  !s->out.oom,
		              "%s: exit %d signal %d", ends[i].name,
		              s->out.exit_code, s->out.signal);
		ck_assert_int_ge(s->out.end, s->out.start);
		ck_assert_int_ge(s->out.peak_mem_kib, 0);
		lw_forget(w, i + 1);
	}
}

LOCAL_TEST(nothing_is_left_when_the_script_ends)
{
	lw_start_ready(w,
	               JOB(.script = LOCAL_RUN_AWAY "echo ready >&3; exit 4"));
	ck_assert_int_eq(lw_expect(w, RUN_ENDED, 1)->out.exit_code, 4);
	lw_wait_closed(w, "pipe");
}

/* Processes that still write when the script ends get a short time to finish,
 * which may be too short on a busy machine; so try again. */
LOCAL_TEST(what_still_writes_may_finish)
{
	for (uint64_t id = 1; id <= 5; id++) {
		lw_run_job(w, JOB(.id = id, .script = "rm -f p; mkfifo p\n"
		                                      "(cat p; sleep 0.05; "
		                                      "echo more) >copy &\n"
		                                      "echo hello >p"));
		if (strstr(lw_content(w, "copy"), "more"))
			break;
	}
	ck_assert_str_eq(lw_content(w, "copy"), "hello\nmore\n");
}

LOCAL_TEST(cancel_lets_it_say_goodbye)
{
	lw_start_ready(w, JOB(.script = "trap 'echo bye; exit 3' TERM\n"
	                                "sh -c 'echo ready >pipe; "
	                                "exec sleep 1000' &\n"
	                                "while :; do wait; done"));
	lw_stop(w, 1, STOP_CANCEL, 1000);
	ck_assert_int_eq(lw_expect(w, RUN_ENDED, 1)->out.exit_code, 3);
	ck_assert_ptr_nonnull(strstr(lw_content(w, "out"), "bye\n"));
}

LOCAL_TEST(who_ignores_it_is_killed)
{
	lw_start_ready(w, JOB(.script = "trap '' TERM\n" LOCAL_RUN_AWAY
	                                "echo ready >&3; wait"));
	lw_stop(w, 1, STOP_CANCEL, 1000);
	/* A second stop can shorten the grace time of the first. */
	lw_stop(w, 1, STOP_CANCEL, 0);
	ck_assert_int_eq(lw_expect(w, RUN_ENDED, 1)->out.signal, SIGKILL);
}

static const struct {
	enum stop_why why;
	const char *text, *word;
} whys[] = {
	{ STOP_CANCEL, "", "cancelled" },
	{ STOP_TIME_LIMIT, " DUE TO TIME LIMIT", "limit" },
	{ STOP_REQUEUE, " DUE TO JOB REQUEUE", "preempted" },
	{ STOP_PREEMPT, " DUE TO PREEMPTION", "preempted" },
	{ STOP_NODE_FAIL, " DUE TO NODE FAILURE", "failed" },
	{ STOP_DEADLINE, " DUE TO DEADLINE", "limit" },
};

LOCAL_TEST(the_output_says_why_it_was_stopped)
{
	for (size_t i = 0; i < ARRAY_SIZE(whys); i++) {
		char host[256] = "", head[300], tail[64];
		const char *text;

		lw_start(w, JOB(.id = i + 1, .script = "exec sleep 1000",
		                .error = "err"));
		lw_expect(w, RUN_STARTED, i + 1);
		lw_stop(w, i + 1, whys[i].why, 1000);
		ck_assert_int_eq(lw_expect(w, RUN_ENDED, i + 1)->out.signal,
		                 SIGTERM);
		gethostname(host, sizeof(host) - 1);
		snprintf(head, sizeof(head),
		         "aischedd: error: *** JOB %zu ON %s CANCELLED AT 20",
		         i + 1, host);
		/* Between head and tail is a time such as
		 * 2026-11-21T18:30:00. */
		snprintf(tail, sizeof(tail), "%s ***\n", whys[i].text);
		text = lw_content(w, "err");
		ck_assert_msg(!strncmp(text, head, strlen(head)), "%s", text);
		ck_assert_str_eq(text + strlen(head) + 17, tail);
	}
}

/* The file with the reason has one line, and is written before the job gets its
 * signal. */
LOCAL_TEST(a_file_says_why_it_is_stopped)
{
	lw_make_pipe(w, "pipe");
	for (size_t i = 0; i < ARRAY_SIZE(whys); i++) {
		char said[64];

		lw_start(w,
		         JOB(.id = i + 1,
		             .script =
		                 "[ ! -e \"$AISCHED_END_FILE\" ] || exit 9\n"
		                 "trap 'exec <\"$AISCHED_END_FILE\"\n"
		                 "read -r word sentence; read -r more\n"
		                 "echo $word ${sentence##*[a-z]}$more >said\n"
		                 "exit 3' TERM\n"
		                 "echo up >pipe\n"
		                 "while :; do sleep 0.05; done"));
		lw_expect(w, RUN_STARTED, i + 1);
		lw_hear(w, "pipe");
		lw_stop(w, i + 1, whys[i].why, 1000);
		ck_assert_int_eq(lw_expect(w, RUN_ENDED, i + 1)->out.exit_code,
		                 3);
		snprintf(said, sizeof(said), "%s .\n", whys[i].word);
		ck_assert_str_eq(lw_content(w, "said"), said);
	}
}

LOCAL_TEST(signals_go_to_all_or_to_the_script)
{
	lw_make_pipe(w, "pipe");
	lw_start(w,
	         JOB(.script = "trap 'echo script >&3' USR1\n"
	                       "exec 3>pipe; (trap 'echo child >&3; exit' "
	                       "USR1; echo ready >&3; while :; do sleep 1000 "
	                       "& wait; done) &\nwhile :; do wait; done"));
	lw_expect(w, RUN_STARTED, 1);
	{
		char path[160], text[64];
		FILE *f;

		snprintf(path, sizeof(path), "%s/work/pipe", w->dir);
		f = fopen(path, "r");
		ck_assert_ptr_nonnull(f);
		ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
		ck_assert_str_eq(text, "ready\n");
		lw_signal(w, SIGUSR1, SIGNAL_script);
		ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
		ck_assert_str_eq(text, "script\n");
		lw_signal(w, SIGUSR1, SIGNAL_job);
		for (int i = 0, seen = 0; i < 2; i++) {
			ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
			seen |= !strcmp(text, "script\n") ? 1 : 2;
			ck_assert_msg(i == 0 || seen == 3, "%s", text);
		}
		fclose(f);
	}
	lw_stop(w, 1, STOP_CANCEL, 0);
	lw_expect(w, RUN_ENDED, 1);
}

LOCAL_TEST(too_much_memory_is_told_from_other_ends)
{
	const struct local_seen *s;

	lw_start(w, JOB(.mem_mib = 64,
	                .script = "cat /dev/zero | tail -c 300m >/dev/null"));
	lw_expect(w, RUN_STARTED, 1);
	s = lw_expect(w, RUN_ENDED, 1);
	ck_assert(s->out.oom);
	ck_assert_ptr_nonnull(strstr(lw_content(w, "out"), "OUT OF MEMORY"));
}

LOCAL_TEST(too_much_disk_ends_the_job)
{
	const struct local_seen *s;

	lw_start(w,
	         JOB(.tmp_mib = 2, .script = "mkdir $TMPDIR/a; cd $TMPDIR/a\n"
	                                     "head -c 4m /dev/zero >x\n"
	                                     "exec sleep 1000"));
	lw_expect(w, RUN_STARTED, 1);
	s = lw_expect(w, RUN_ENDED, 1);
	ck_assert(s->out.out_of_disk);
	ck_assert(!s->out.oom);
	ck_assert_ptr_nonnull(strstr(lw_content(w, "out"), "OUT OF DISK"));
}

LOCAL_TEST(a_suspended_job_can_be_stopped)
{
	lw_start_ready(w, JOB(.script = LOCAL_RUN_AWAY "echo ready >&3; wait"));
	w->r->ops->suspend(w->r, 1, 1);
	lw_stop(w, 1, STOP_PREEMPT, 1000);
	ck_assert_int_eq(lw_expect(w, RUN_ENDED, 1)->out.signal, SIGTERM);
}

static void check_limit(const char *dir, const char *file, const char *want)
{
	char path[512], text[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY);
	ck_assert_msg(fd >= 0, "no '%s'", path);
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	close(fd);
	ck_assert_msg(!strcmp(text, want), "%s is %s, not %s", path, text,
	              want);
}

LOCAL_TEST(groups_limit_it_and_are_removed)
{
	struct cgroup_ways ways;
	struct claim claim;
	const char **dir;

	cgroup_find(&ways, w->arena);
	lw_start_ready(w, JOB(.cpus_milli = 50, .mem_mib = 64,
	                      .script = "echo ready >pipe; "
	                                "exec sleep 1000"));
	claim = lw_read_claim(w, 1);
	dir = claim.cgroup.dir;
	if (ways.v2[CG_MEMORY])
		check_limit(dir[CG_V2], "memory.max", "67108864");
	else if (dir[CG_MEMORY])
		check_limit(dir[CG_MEMORY], "memory.limit_in_bytes",
		            "67108864");
	if (ways.v2[CG_CPU])
		check_limit(dir[CG_V2], "cpu.max", "5000 100000");
	else if (dir[CG_CPU])
		check_limit(dir[CG_CPU], "cpu.cfs_quota_us", "5000");
	if (ways.v2[CG_PIDS])
		check_limit(dir[CG_V2], "pids.max", "4000");
	else if (dir[CG_PIDS])
		check_limit(dir[CG_PIDS], "pids.max", "4000");
	lw_stop(w, 1, STOP_CANCEL, 0);
	lw_expect(w, RUN_ENDED, 1);
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++)
		if (dir[t])
			ck_assert_int_eq(access(dir[t], F_OK), -1);
}

LOCAL_TEST(what_it_used_is_counted)
{
	const struct local_seen *s;

	s = lw_run_job(w, JOB(.script = "dd if=/dev/zero of=/dev/null "
	                                "bs=32M count=8"));
	ck_assert_int_gt(s->out.cpu_ms, 0);
	ck_assert_int_gt(s->out.peak_mem_kib, 32 * 1024);
	ck_assert_int_lt(s->out.peak_mem_kib, 512 * 1024);
}

SUITE(local_end)
{
	const TTest *const tests[] = {
		ends_are_kept_exactly,
		nothing_is_left_when_the_script_ends,
		what_still_writes_may_finish,
		cancel_lets_it_say_goodbye,
		who_ignores_it_is_killed,
		the_output_says_why_it_was_stopped,
		a_file_says_why_it_is_stopped,
		signals_go_to_all_or_to_the_script,
		too_much_memory_is_told_from_other_ends,
		too_much_disk_ends_the_job,
		a_suspended_job_can_be_stopped,
		groups_limit_it_and_are_removed,
		what_it_used_is_counted,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_loop_test(tc, tests[i], 0, LOCAL_MODES);
}
