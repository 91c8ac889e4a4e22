/* test_signal.c - signals for pods whose shell may never end */
#include "aischedd/run/kube/exec/signal.h"

#include <event2/event.h>
#include <signal.h>
#include <string.h>

#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

#define PODS "GET /api/v1/namespaces/n/pods/"
#define V5   "v5.channel.k8s.io"

/* the Status of a shell that has ended well */
#define ENDED "\x82\x15\x03{\"status\":\"Success\"}\x88\x00"

enum { STUCK = 9 }; /* pods of job 1: one more than it may have at a time */

static struct kube_stage st;

static void set_up(void)
{
	struct kube_attempt *a;
	char name[16];

	stage_begin(&st);
	a = stage_job(&st, 1, 1);
	for (int i = 0; i < STUCK; i++) {
		snprintf(name, sizeof(name), "stuck%d", i);
		stage_pod(a, i, name, "n0");
	}
	stage_pod(stage_job(&st, 2, 1), 0, "well", "n0");
}

static void tear_down(void)
{
	stage_end(&st);
}

static void send_signal(uint64_t job, int signo)
{
	kube_signal_send(&st.kube->runner, job, 1,
	                 &(struct run_signal){ .signo = signo });
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

SUITE(kube_signal)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, one_job_does_not_hold_up_another);
	tcase_add_test(tc, a_shell_that_does_not_end_is_given_up);
	tcase_add_test(tc, an_equal_signal_that_waits_is_sent_once);
}
