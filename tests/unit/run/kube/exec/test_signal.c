/* test_signal.c - signals for pods whose shell may never end */
#include "aischedd/run/kube/exec/signal.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/object/world.h"

#define PODS "GET /api/v1/namespaces/n/pods/"
#define V5   "v5.channel.k8s.io"

/* the Status of a shell that has ended well */
#define ENDED "\x82\x15\x03{\"status\":\"Success\"}\x88\x00"

enum { STUCK = 9 }; /* pods of job 1: one more than it may have at a time */

static struct kube_world w;
static struct kube *kube;
static struct kube_space space;
static char its_name[] = "n";
static struct buf told; /* texts of the events, each followed by '|' */
static unsigned ntold;

static void on_event(const struct run_event *ev, void *arg)
{
	(void)arg;
	ck_assert_int_eq(ev->kind, RUN_UNREACHED);
	buf_printf(&told, "%s|", ev->text ? ev->text : "reached");
	ntold++;
}

static void on_soon(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	kube_signal_step(arg);
}

/* Make an attempt with n pods: NAME0, NAME1, ... */
static void add_job(uint64_t job, const char *name, int32_t n)
{
	const struct kube_owner id = { job, 1 };
	struct kube_attempt *a = kube_attempt_new(&space, &id);

	for (int32_t i = 0; i < n; i++) {
		struct kube_task *task = xcalloc(1, sizeof(*task));

		task->attempt = a;
		task->pod =
		    (struct kube_pod){ .namespace = xstrdup("n"),
			               .name = xasprintf("%s%d", name, i),
			               .uid = xasprintf("uid-%s%d", name, i),
			               .node = xstrdup(""),
			               .container = xstrdup("main"),
			               .leave = xstrdup(""),
			               .index = i,
			               .ran = true };
		TAILQ_INSERT_TAIL(&a->tasks, task, of_list);
	}
}

static void set_up(void)
{
	world_begin(&w, false);
	world_conf(&w, "", "");
	world_http(&w);
	kube = xcalloc(1, sizeof(*kube));
	kube->base = w.base;
	kube->http = w.http;
	kube->fn = on_event;
	kube->home.cluster = "c";
	kube->soon = event_new(w.base, -1, 0, on_soon, kube);
	TAILQ_INIT(&kube->pods.loose);
	kube_signal_init(kube);
	space = (struct kube_space){ .kube = kube, .name = its_name };
	ntold = 0;
	add_job(1, "stuck", STUCK);
	add_job(2, "well", 1);
}

static void tear_down(void)
{
	static const struct kube_owner ids[] = { { 1, 1 }, { 2, 1 } };

	kube_signal_free_all(kube);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		kube_attempt_free(kube_attempt_find(kube, &ids[i]));
	kube_pods_free(kube);
	map_free(&kube->attempts);
	event_free(kube->soon);
	free(kube);
	buf_free(&told);
	world_end(&w);
}

static void send_signal(uint64_t job, int signo)
{
	kube_signal_send(&kube->runner, job, 1,
	                 &(struct run_signal){ .signo = signo });
}

/* Run the loop until the server has had n requests and n events were told. */
static void run(unsigned requests, unsigned events)
{
	while (server_requests(w.server) < requests || ntold < events)
		event_base_loop(w.base, EVLOOP_ONCE);
}

static void serve_silence(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		server_socket(w.server, PODS "stuck", V5, "", 0, THEN_SILENCE);
}

START_TEST(one_job_does_not_hold_up_another)
{
	serve_silence(STUCK - 1);
	server_socket(w.server, PODS "well0/", V5, ENDED, sizeof(ENDED) - 1,
	              THEN_CLOSE);
	send_signal(1, SIGUSR1);
	send_signal(2, SIGUSR1);
	run(STUCK, 0);
	ck_assert_uint_eq(server_waiting(w.server), 0);
}
END_TEST

START_TEST(a_shell_that_does_not_end_is_given_up)
{
	kube->signals.limit_ms = 50;
	serve_silence(STUCK);
	send_signal(1, SIGUSR1);
	run(STUCK, STUCK);
	ck_assert_ptr_nonnull(
	    strstr(told.data, "signal 10 did not reach pod 'stuck8': sh has "
	                      "not ended within 0.05 s|"));
	ck_assert_uint_eq(kube->signals.n, 0);
	ck_assert_uint_eq(kube->signals.nsent, 0);
}
END_TEST

START_TEST(an_equal_signal_that_waits_is_sent_once)
{
	for (int i = 0; i < 3; i++)
		server_socket(w.server, PODS "well0/", V5, ENDED,
		              sizeof(ENDED) - 1, THEN_CLOSE);
	send_signal(2, SIGUSR1);
	send_signal(2, SIGUSR2);
	send_signal(2, SIGUSR1);
	ck_assert_uint_eq(kube->signals.n, 2);
	run(2, 0);
	while (kube->signals.n)
		event_base_loop(w.base, EVLOOP_ONCE);
	send_signal(2, SIGUSR1);
	run(3, 0);
	ck_assert_uint_eq(ntold, 0);
}
END_TEST

SUITE(kube_signal)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, one_job_does_not_hold_up_another);
	tcase_add_test(tc, a_shell_that_does_not_end_is_given_up);
	tcase_add_test(tc, an_equal_signal_that_waits_is_sent_once);
}
