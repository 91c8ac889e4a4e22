/* test_signal.c - signals for pods whose shell may never end */
#include "aischedd/run/kube/exec/signal.h"

#include <event2/event.h>
#include <signal.h>
#include <string.h>

#include "aischedd/run/kube/exec/command.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

#define PODS "GET /api/v1/namespaces/n/pods/"
#define V5   "v5.channel.k8s.io"

/* the Status of a shell that has ended well */
#define ENDED "\x82\x15\x03{\"status\":\"Success\"}\x88\x00"

enum { STUCK = 9 }; /* pods of job 1: one more than it may have at a time */

static struct kube_stage st;

/* Make a job of STUCK pods. */
static void stuck_job(uint64_t job, const char *name)
{
	struct kube_attempt *a = stage_job(&st, job, 1);
	char pod[16];

	for (int i = 0; i < STUCK; i++) {
		snprintf(pod, sizeof(pod), "%s%d", name, i);
		stage_pod(a, i, pod, "n0");
	}
}

static void set_up(void)
{
	stage_begin(&st);
	TAILQ_INIT(&st.kube->commands.list);
	stuck_job(1, "stuck");
	stage_pod(stage_job(&st, 2, 1), 0, "well", "n0");
}

static void tear_down(void)
{
	stage_end(&st);
}

static void send_signal(uint64_t job, int signo)
{
	kube_signal_send(
	    &st.kube->runner, job, 1,
	    &(struct run_signal){ .signo = signo, .user = job == 2 ? 2 : 1 });
}

/* Run the loop until the server has had n requests and n events were told. */
static void run(unsigned requests, unsigned events)
{
	while (server_requests(st.w.server) < requests || st.ntold < events)
		event_base_loop(st.w.base, EVLOOP_ONCE);
}

static void serve_silence(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		server_socket(st.w.server, PODS "stuck", V5, "", 0,
		              THEN_SILENCE);
}

START_TEST(one_job_does_not_hold_up_another)
{
	serve_silence(STUCK - 1);
	server_socket(st.w.server, PODS "well/", V5, ENDED, sizeof(ENDED) - 1,
	              THEN_CLOSE);
	send_signal(1, SIGUSR1);
	send_signal(2, SIGUSR1);
	run(STUCK, 0);
	ck_assert_uint_eq(server_waiting(st.w.server), 0);
}
END_TEST

START_TEST(one_user_does_not_hold_up_another)
{
	stuck_job(3, "stuck3-");
	stuck_job(4, "stuck4-");
	serve_silence(2 * (STUCK - 1));
	server_socket(st.w.server, PODS "well/", V5, ENDED, sizeof(ENDED) - 1,
	              THEN_CLOSE);
	send_signal(1, SIGUSR1);
	send_signal(3, SIGUSR1);
	send_signal(4, SIGUSR1);
	send_signal(2, SIGUSR1);
	run(2 * (STUCK - 1) + 1, 0);
	ck_assert_uint_eq(server_waiting(st.w.server), 0);
}
END_TEST

START_TEST(a_shell_that_does_not_end_is_given_up)
{
	st.kube->signals.limit_ms = 50;
	serve_silence(STUCK);
	send_signal(1, SIGUSR1);
	run(STUCK, STUCK);
	ck_assert_ptr_nonnull(
	    strstr(st.told.data, "signal 10 did not reach pod 'stuck8': sh has "
	                         "not ended within 0.05 s|"));
	ck_assert_uint_eq(st.kube->signals.n, 0);
	ck_assert_uint_eq(st.kube->signals.nsent, 0);
}
END_TEST

START_TEST(an_equal_signal_that_waits_is_sent_once)
{
	for (int i = 0; i < 3; i++)
		server_socket(st.w.server, PODS "well/", V5, ENDED,
		              sizeof(ENDED) - 1, THEN_CLOSE);
	send_signal(2, SIGUSR1);
	send_signal(2, SIGUSR2);
	send_signal(2, SIGUSR1);
	ck_assert_uint_eq(st.kube->signals.n, 2);
	run(2, 0);
	while (st.kube->signals.n)
		event_base_loop(st.w.base, EVLOOP_ONCE);
	send_signal(2, SIGUSR1);
	run(3, 0);
	ck_assert_uint_eq(st.ntold, 0);
}
END_TEST

/* --- commands of users --- */

static struct buf output;
static bool drained, ended;

static void on_output(int stream, const void *data, size_t len, void *arg)
{
	(void)arg;
	buf_printf(&output, "%d %.*s", stream, (int)len, (const char *)data);
}

static void on_drained(void *arg)
{
	(void)arg;
	drained = true;
}

static void on_end(int status, const struct err *err, void *arg)
{
	(void)status, (void)err, (void)arg;
	ended = true;
}

/* Run a command of user 1 in the pod "well", until it has begun; path: how the
 * path of its call begins. */
static struct run_exec *begin_at(const char *path, bool no_input)
{
	static const struct run_exec_ops ops = { on_output, on_drained,
		                                 on_end };
	static const char pid[] = "\x82\x04\x01"
				  "77\n";
	static const char *const argv[] = { "true", NULL };
	const struct run_exec_wish wish = { .job = 2,
		                            .attempt = 1,
		                            .user = 1,
		                            .argv = argv,
		                            .no_input = no_input };
	struct run_exec *exec;
	struct err err;

	server_socket(st.w.server, path, V5, pid, sizeof(pid) - 1,
	              THEN_SILENCE);
	exec =
	    kube_command_calls.open(&st.kube->runner, &wish, &ops, NULL, &err);
	ck_assert_ptr_nonnull(exec);
	while (!drained)
		event_base_loop(st.w.base, EVLOOP_ONCE);
	return exec;
}

static struct run_exec *begin_command(void)
{
	return begin_at(PODS "well/", false);
}

/* Request signals until as many wait as one user may have. */
static void fill(uint32_t user)
{
	char namespace[] = "n", pod[] = "stuck0", container[] = "main";
	struct kube_signal_to to = { .job = 1,
		                     .attempt = 1,
		                     .user = user,
		                     .namespace = namespace,
		                     .pod = pod,
		                     .container = container };
	int64_t pid = 1;

	while (kube_signal_session(st.kube, &to, pid, SIGTERM))
		pid++;
	ck_assert_int_eq(pid, 20001);
	to.user++;
	ck_assert(kube_signal_session(st.kube, &to, pid, SIGTERM));
}

START_TEST(a_refused_signal_to_a_command_is_told)
{
	struct run_exec *exec = begin_command();

	fill(1);
	kube_command_calls.signal(exec, SIGUSR1);
	ck_assert_str_eq(
	    output.data,
	    "2 the signal is not sent: too many are on their way\n");
	kube_command_free_all(st.kube);
	buf_free(&output);
}
END_TEST

START_TEST(the_refused_end_of_a_command_is_tried_again)
{
	struct run_exec *exec = begin_command();

	st.kube->commands.hang_up_ms = 10;
	fill(1);
	kube_command_calls.close(exec);
	kube_signal_free_all(st.kube);
	server_socket(st.w.server, PODS "well/", V5, ENDED, sizeof(ENDED) - 1,
	              THEN_CLOSE);
	while (!ended)
		event_base_loop(st.w.base, EVLOOP_ONCE);
	run(2, 0);
	ck_assert_uint_eq(server_waiting(st.w.server), 0);
}
END_TEST

START_TEST(a_command_without_input_has_no_stdin)
{
	begin_at(PODS "well/exec?container=main&stdout=true&stderr=true", true);
	kube_command_free_all(st.kube);
	ck_assert_uint_eq(server_waiting(st.w.server), 0);
}
END_TEST

SUITE(kube_signal)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, one_job_does_not_hold_up_another);
	tcase_add_test(tc, one_user_does_not_hold_up_another);
	tcase_add_test(tc, a_command_without_input_has_no_stdin);
	tcase_add_test(tc, a_refused_signal_to_a_command_is_told);
	tcase_add_test(tc, the_refused_end_of_a_command_is_tried_again);
	tcase_add_test(tc, a_shell_that_does_not_end_is_given_up);
	tcase_add_test(tc, an_equal_signal_that_waits_is_sent_once);
}
