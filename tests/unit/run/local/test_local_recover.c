/* test_local_recover.c - jobs outlive daemons, and the death of a shepherd ends
 * only its own job */
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aischedd/run/local/local.h"
#include "aischedd/run/shepherd/proc.h"
#include "libcommon/fdpass.h"
#include "tests/unit/run/local/world.h"

LOCAL_TEST(it_goes_on_with_other_cpus)
{
	char first[64];

	if (w->ncpus < 2)
		return;
	lw_make_pipe(w, "pipe");
	lw_make_pipe(w, "go");
	lw_start(w, JOB(.script = "l() { grep Cpus_allowed_list "
	                          "/proc/self/status; }; l >pipe; "
	                          "read x <go; l"));
	lw_expect(w, RUN_STARTED, 1);
	snprintf(first, sizeof(first), "%s", lw_hear(w, "pipe"));
	w->r->ops->suspend(w->r, 1, 1);
	/* The next daemon finds out that the job is suspended. */
	lw_daemon_restarts(w, 1, &(uint64_t){ 1 });
	ck_assert(lw_expect(w, RUN_STARTED, 1)->suspended);
	lw_expect(w, RUN_SYNCED, 0);
	lw_resume(w, 1);
	{
		char path[160];
		int fd;

		snprintf(path, sizeof(path), "%s/work/go", w->dir);
		fd = open(path, O_WRONLY);
		ck_assert_int_eq(write(fd, "x\n", 2), 2);
		close(fd);
	}
	lw_expect(w, RUN_ENDED, 1);
	ck_assert_str_ne(lw_content(w, "out"), first);
	ck_assert_ptr_nonnull(
	    strstr(lw_content(w, "out"), "Cpus_allowed_list"));
}

static bool attempt_exists(struct local_world *w, uint64_t job)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/" LOCAL_STATE "/run/%" PRIu64 ".1",
	         w->dir, job);
	return access(path, F_OK) == 0;
}

LOCAL_TEST(jobs_outlive_the_daemon)
{
	pid_t shepherd;

	lw_make_pipe(w, "pipe");
	lw_make_pipe(w, "pipe2");
	lw_start(w, JOB(.script = "echo ready >pipe; exit 5"));
	lw_start(w, JOB(.id = 2, .output = "out2",
	                .script = "echo ready >pipe2; "
	                          "exec sleep 1000"));
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(lw_next(w)->kind, RUN_STARTED);
	shepherd = lw_read_claim(w, 1).pid;
	lw_daemon_ends(w);
	lw_hear(w, "pipe");
	lw_wait_gone(shepherd);
	lw_daemon_begins(w);
	lw_recover(w, 3, (uint64_t[]){ 1, 2, 3 });
	for (int i = 0; i < 3; i++) {
		const struct local_seen *s = lw_next(w);

		if (s->job == 1)
			ck_assert_int_eq(s->out.exit_code, 5);
		ck_assert_int_eq(s->kind, s->job == 1   ? RUN_ENDED
		                          : s->job == 2 ? RUN_STARTED
		                                        : RUN_UNKNOWN);
	}
	lw_expect(w, RUN_SYNCED, 0);
	/* Starting a running job again has no effect. */
	lw_start(w, JOB(.id = 2, .script = "echo again"));
	lw_stop(w, 2, STOP_CANCEL, 0);
	lw_expect(w, RUN_ENDED, 2);
	lw_forget(w, 1);
	ck_assert(!attempt_exists(w, 1));
}

LOCAL_TEST(a_start_cut_short_happens_once_at_most)
{
	for (uint64_t id = 1; id <= 20; id++) {
		enum run_event_kind kind;
		struct local_job job = { .id = id,
			                 .script = "echo x >>$SLURM_JOB_ID" };
		char name[8];

		lw_start(w, &job);
		lw_daemon_restarts(w, 1, &id);
		for (bool synced = false, ended = false; !synced || !ended;) {
			kind = lw_next(w)->kind;
			synced |= kind == RUN_SYNCED;
			ended |= kind == RUN_ENDED;
			if (kind == RUN_UNKNOWN)
				lw_start(w, &job);
			ck_assert_int_ne(kind, RUN_START_FAILED);
			ck_assert_int_ne(kind, RUN_LOST);
		}
		snprintf(name, sizeof(name), "%d", (int)id);
		ck_assert_str_eq(lw_content(w, name), "x\n");
		lw_forget(w, id);
	}
}

LOCAL_TEST(a_killed_shepherd_takes_its_job_along)
{
	const struct local_seen *s;

	lw_start_ready(w, JOB(.script = LOCAL_RUN_AWAY "echo ready >&3; wait"));
	kill(lw_read_claim(w, 1).pid, SIGKILL);
	s = lw_expect(w, RUN_LOST, 1);
	ck_assert_str_eq(s->text, "its shepherd was killed");
	ck_assert(!s->rebooted);
	lw_wait_closed(w, "pipe");
}

/* The runner reads /proc only once for all shepherds that were killed. */
LOCAL_TEST(shepherds_killed_together_take_their_jobs_along)
{
	enum { N = 6 };
	unsigned lost = 0;
	char path[128];

	snprintf(path, sizeof(path), "%s/work/pipe", w->dir);
	for (uint64_t id = 1; id <= N; id++) {
		struct local_job job = { .id = id,
			                 .cpus_milli = 100,
			                 .mem_mib = 50,
			                 .script = LOCAL_RUN_AWAY
			                 "echo ready >&3; wait" };

		unlink(path);
		lw_start_ready(w, &job);
	}
	for (uint64_t id = 1; id <= N; id++)
		kill(lw_read_claim(w, id).pid, SIGKILL);
	for (int i = 0; i < N; i++) {
		const struct local_seen *s = lw_next(w);

		ck_assert_int_eq(s->kind, RUN_LOST);
		ck_assert_str_eq(s->text, "its shepherd was killed");
		lost |= 1U << s->job;
	}
	ck_assert_uint_eq(lost, ((1U << N) - 1) << 1);
	lw_wait_closed(w, "pipe");
}

LOCAL_TEST(a_shepherd_killed_meanwhile_is_noticed_later)
{
	pid_t shepherd;

	lw_start_ready(w, JOB(.script = LOCAL_RUN_AWAY "echo ready >&3; wait"));
	shepherd = lw_read_claim(w, 1).pid;
	lw_daemon_ends(w);
	kill(shepherd, SIGKILL);
	lw_wait_gone(shepherd);
	lw_daemon_begins(w);
	lw_recover(w, 1, &(uint64_t){ 1 });
	ck_assert(!lw_expect(w, RUN_LOST, 1)->rebooted);
	lw_expect(w, RUN_SYNCED, 0);
	lw_wait_closed(w, "pipe");
}

LOCAL_TEST(a_restart_of_the_machine_is_told)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/" LOCAL_STATE "/run/9.1", w->dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/" LOCAL_STATE "/run/9.1/claim",
	         w->dir);
	f = fopen(path, "w");
	fprintf(f,
	        "{\"boot\":\"another\",\"pid\":%d,\"run_id\":\"x\","
	        "\"cgroups\":[]}\n",
	        getpid());
	fclose(f);
	lw_daemon_restarts(w, 1, &(uint64_t){ 9 });
	ck_assert(lw_expect(w, RUN_LOST, 9)->rebooted);
	lw_expect(w, RUN_SYNCED, 0);
}

LOCAL_TEST(what_nobody_asks_about_is_ended)
{
	lw_start_ready(w, JOB(.script = LOCAL_RUN_AWAY "echo ready >&3; wait"));
	lw_daemon_restarts(w, 0, NULL);
	lw_expect(w, RUN_SYNCED, 0);
	lw_wait_closed(w, "pipe");
	while (attempt_exists(w, 1))
		event_base_loop(w->base, EVLOOP_ONCE);
}

/* Kill a process if it is our own child, as the nursery is. */
static void kill_child(pid_t pid, void *arg)
{
	siginfo_t info;

	(void)arg;
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) < 0)
		return;
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

LOCAL_TEST(a_killed_nursery_is_replaced)
{
	lw_make_pipe(w, "pipe");
	lw_start(w, JOB(.script = "echo ready >pipe"));
	lw_expect(w, RUN_STARTED, 1);
	proc_descendants(getpid(), kill_child, NULL);
	lw_hear(w, "pipe");
	lw_expect(w, RUN_ENDED, 1);
	lw_run_job(w, JOB(.id = 2, .script = "true"));
}

/* Let the runner give up soon on shepherds that do not answer. */
static void be_impatient(struct local_world *w)
{
	local_of(w->r)->deaf_ms = 50;
}

LOCAL_TEST(a_shepherd_that_hangs_does_not_keep_its_job)
{
	const struct local_seen *s;
	pid_t shepherd;

	be_impatient(w);
	lw_start_ready(w, JOB(.script = LOCAL_RUN_AWAY "echo ready >&3; wait"));
	shepherd = lw_read_claim(w, 1).pid;
	kill(shepherd, SIGSTOP);
	lw_stop(w, 1, STOP_CANCEL, 1);
	s = lw_expect(w, RUN_LOST, 1);
	ck_assert_str_eq(s->text, "its shepherd did not answer");
	lw_wait_closed(w, "pipe");
	lw_wait_gone(shepherd);
	lw_forget(w, 1);
	ck_assert(!attempt_exists(w, 1));
}

static void suspend_job(struct local_world *w)
{
	w->r->ops->suspend(w->r, 1, 1);
}

static void resume_job(struct local_world *w)
{
	lw_resume(w, 0);
}

static void resize_job(struct local_world *w)
{
	lw_order(w, JOB(.script = "true", .resize = 1), w->r->ops->resize);
}

LOCAL_TEST(a_shepherd_that_hangs_does_not_go_on_with_freed_cpus)
{
	static void (*const ask[])(struct local_world *
	                           w) = { suspend_job, resume_job, resize_job };
	const struct local_seen *s;
	pid_t shepherd;

	be_impatient(w);
	lw_make_pipe(w, "pipe");
	for (size_t i = 0; i < ARRAY_SIZE(ask); i++) {
		lw_start(w,
		         JOB(.script = LOCAL_RUN_AWAY "echo ready >&3; wait"));
		lw_expect(w, RUN_STARTED, 1);
		lw_hear(w, "pipe");
		shepherd = lw_read_claim(w, 1).pid;
		kill(shepherd, SIGSTOP);
		ask[i](w);
		s = lw_expect(w, RUN_LOST, 1);
		ck_assert_str_eq(s->text, "its shepherd did not answer");
		lw_wait_closed(w, "pipe");
		lw_wait_gone(shepherd);
		lw_forget(w, 1);
		ck_assert(!attempt_exists(w, 1));
	}
}

/* Returns a TCP connection whose close waits for a peer that never reads. */
static int lingering(int *ret_peer)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	static const char data[65536];
	int listens = socket(AF_INET, SOCK_STREAM, 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(listens, (struct sockaddr *)&at, len), 0);
	ck_assert_int_eq(listen(listens, 1), 0);
	ck_assert_int_eq(getsockname(listens, (struct sockaddr *)&at, &len), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, len), 0);
	*ret_peer = accept(listens, NULL, NULL);
	ck_assert_int_ge(*ret_peer, 0);
	close(listens);
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	ck_assert_int_eq(
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	return fd;
}

/* Send SIGSTOP, and wait until the process has stopped. */
static void stop_process(pid_t pid)
{
	char path[32], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	kill(pid, SIGSTOP);
	while (state != 'T') {
		FILE *f = fopen(path, "r");

		ck_assert_ptr_nonnull(f);
		ck_assert_int_eq(fscanf(f, "%*d %*s %c", &state), 1);
		fclose(f);
	}
}

LOCAL_TEST(descriptors_that_hang_do_not_keep_a_job)
{
	int peer, fd = lingering(&peer), conn;
	const struct local_seen *s;
	pid_t shepherd;

	be_impatient(w);
	lw_start_ready(w, JOB(.script = LOCAL_RUN_AWAY "echo ready >&3; wait"));
	shepherd = lw_read_claim(w, 1).pid;
	conn = lw_connect_steps(w);
	/* The last of the descriptors to be closed is the shepherd's. */
	stop_process(shepherd);
	ck_assert_int_eq(fdpass_send(conn, "x", 1, &fd, 1, 0), 1);
	close(fd);
	kill(shepherd, SIGCONT);
	lw_stop(w, 1, STOP_CANCEL, 0);
	s = lw_next(w);
	ck_assert(s->kind == RUN_LOST || s->kind == RUN_ENDED);
	lw_wait_closed(w, "pipe");
	lw_wait_gone(shepherd);
	close(conn);
	close(peer);
}

LOCAL_TEST(a_shepherd_that_hangs_does_not_delay_a_restart)
{
	lw_start_ready(w, JOB(.script = LOCAL_RUN_AWAY "echo ready >&3; wait"));
	kill(lw_read_claim(w, 1).pid, SIGSTOP);
	/* Each daemon connects to the stopped shepherd, which accepts no
	 * connection. No daemon may wait, even if the socket's queue of
	 * connections is full. */
	for (int i = 0; i < 8; i++) {
		lw_daemon_ends(w);
		lw_daemon_begins(w);
		be_impatient(w);
		lw_recover(w, 1, &(uint64_t){ 1 });
		lw_expect(w, RUN_STARTED, 1);
		lw_expect(w, RUN_SYNCED, 0);
	}
	lw_stop(w, 1, STOP_CANCEL, 0);
	lw_expect(w, RUN_LOST, 1);
	lw_wait_closed(w, "pipe");
}

SUITE(local_recover)
{
	const TTest *const tests[] = {
		it_goes_on_with_other_cpus,
		jobs_outlive_the_daemon,
		a_start_cut_short_happens_once_at_most,
		a_killed_shepherd_takes_its_job_along,
		shepherds_killed_together_take_their_jobs_along,
		a_shepherd_killed_meanwhile_is_noticed_later,
		a_restart_of_the_machine_is_told,
		what_nobody_asks_about_is_ended,
		a_shepherd_that_hangs_does_not_keep_its_job,
		a_shepherd_that_hangs_does_not_go_on_with_freed_cpus,
		descriptors_that_hang_do_not_keep_a_job,
		a_shepherd_that_hangs_does_not_delay_a_restart,
		a_killed_nursery_is_replaced,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_loop_test(tc, tests[i], 0, LOCAL_MODES);
}
