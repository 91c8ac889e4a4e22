/* test_keep.c - logs whose calls fail */
#include "aischedd/run/kube/keep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

#define LOG "GET /api/v1/namespaces/n/pods/one/log?"

enum {
	/* more refusals than the client takes for one call */
	REFUSALS = 8,
	PATIENCE_MS = 60000,
	STEP_MS = 20
};

static struct kube_stage st;
static struct kube_keep *keep;

/* Job 1 has one pod, which has ended; none of its log has been read. */
static void set_up(void)
{
	json_t *node = json_pack(
	    "{s: {s: s}, s: {s: [{s: s, s: s}]}}", "metadata", "name", "n0",
	    "status", "conditions", "type", "Ready", "status", "True");
	struct kube_attempt *a;

	stage_begin(&st);
	st.pool.log_limit = 1024;
	st.kube->log.folder = xasprintf("%s/logs", st.w.folder);
	TAILQ_INIT(&st.kube->keep.list);
	kube_nodes_news(st.kube->nodes, KUBE_ADDED, node);
	json_decref(node);
	a = stage_job(&st, 1, 1);
	stage_pod(a, 0, "one", "n0")->pod.phase = POD_SUCCEEDED;
	keep = kube_keep_new(st.kube, &a->id);
}

static void tear_down(void)
{
	char *folder = st.kube->log.folder;
	struct err err;

	kube_keep_free(keep);
	ck_assert_int_eq(log_remove(folder, 1, &err), 0);
	rmdir(folder);
	stage_end(&st);
	free(folder);
}

static void keep_all(void)
{
	kube_keep_add(keep, true);
	for (int ms = 0; ms < PATIENCE_MS && !kube_keep_is_done(keep);
	     ms += STEP_MS) {
		world_wait(&st.w, STEP_MS);
		kube_keep_step(st.kube);
	}
	ck_assert(kube_keep_is_done(keep));
}

static void refused_for_a_while(int code)
{
	static const char reply[] =
	    "HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\n"
	    "2026-01-01T00:00:00.000000000Z hi\n";
	struct log_id *list;

	for (int i = 0; i < REFUSALS; i++)
		server_json(st.w.server, LOG, code, "", "{}");
	server_raw(st.w.server, LOG, reply, THEN_KEEP);
	keep_all();
	ck_assert_msg(!kube_keep_lost(keep), "%s", kube_keep_lost(keep));
	ck_assert_uint_eq(log_list(st.kube->log.folder, 1, &list), 1);
	free(list);
}

START_TEST(a_busy_server_loses_no_log)
{
	refused_for_a_while(429);
}
END_TEST

START_TEST(a_server_that_cannot_check_credentials_loses_no_log)
{
	refused_for_a_while(401);
}
END_TEST

START_TEST(a_log_that_may_not_be_read_is_lost_at_once)
{
	server_json(st.w.server, LOG, 403, "", "{}");
	keep_all();
	ck_assert_ptr_nonnull(kube_keep_lost(keep));
}
END_TEST

SUITE(kube_keep)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_busy_server_loses_no_log);
	tcase_add_test(tc, a_server_that_cannot_check_credentials_loses_no_log);
	tcase_add_test(tc, a_log_that_may_not_be_read_is_lost_at_once);
}
