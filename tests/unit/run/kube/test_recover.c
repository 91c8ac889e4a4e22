/* test_recover.c - which Jobs are attempts of ours when the daemon starts */
#include "aischedd/run/kube/recover.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/jobs.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

static struct kube_stage st;

static void set_up(void)
{
	stage_begin(&st);
	stage_hold_lease(&st);
	for (int i = 0; i < SEE_N; i++)
		st.kube->sight.synced[i] = true;
	st.space.sight.synced[SEE_JOBS] = true;
	st.other.sight.synced[SEE_JOBS] = true;
	st.kube->version.known = true;
}

static void tear_down(void)
{
	stage_end(&st);
}

/* The watch of the namespace reports a Job for attempt 1 of job 7, which looks
 * like ours, with this uid. */
static void job_seen(struct kube_space *space, const char *uid,
                     const char *tasks)
{
	json_t *job = json_pack(
	    "{s:{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s}}, s:{s:i}}",
	    "metadata", "name", "aj-c-7-1", "uid", uid, "labels",
	    KUBE_LABEL_CLUSTER, "c", KUBE_LABEL_JOB, "7", "annotations",
	    KUBE_NOTE_STORE, "s", KUBE_NOTE_POOL, "p", KUBE_NOTE_ATTEMPT, "1",
	    KUBE_NOTE_TASKS, tasks, "spec", "completions",
	    (int)strtol(tasks, NULL, 10));

	kube_jobs_news(space, KUBE_ADDED, job);
	json_decref(job);
}

/* Ask about the attempt, which runs in this namespace as far as the daemon
 * knows. Returns the uid of the Job that was taken for it; NULL: none. */
static const char *recover(const char *space)
{
	static const struct kube_owner id = { 7, 1 };
	const struct kube_attempt *a;

	kube_recover(&st.kube->runner, 1,
	             &(struct run_attempt){ 7, 1, false, space });
	ck_assert_uint_eq(st.kube->recovery.n, 0);
	a = kube_attempt_find(st.kube, &id);
	return a ? a->uid : NULL;
}

START_TEST(an_attempt_is_looked_for_in_its_namespace)
{
	job_seen(&st.space, "false", "1");
	job_seen(&st.other, "ours", "1");
	ck_assert_str_eq(recover("o"), "ours");
}
END_TEST

START_TEST(a_job_elsewhere_does_not_stand_in)
{
	job_seen(&st.space, "false", "1");
	ck_assert_ptr_null(recover("o"));
	ck_assert_int_eq(st.kube->recovery.done, true);
}
END_TEST

START_TEST(an_attempt_of_an_older_version_is_looked_for_everywhere)
{
	job_seen(&st.other, "ours", "1");
	ck_assert_str_eq(recover(NULL), "ours");
}
END_TEST

START_TEST(a_job_without_tasks_is_not_ours)
{
	job_seen(&st.space, "false", "0");
	ck_assert_ptr_null(recover("n"));
}
END_TEST

/* Show an object of this attempt, which has these fields beside its labels. */
static void seen(int what, const char *meta, const char *rest)
{
	char *text = xasprintf(
	    "{\"metadata\": {\"namespace\": \"n\", \"labels\":"
	    " {\"aisched.io/cluster\": \"c\", \"aisched.io/job-id\": \"7\","
	    " \"batch.kubernetes.io/job-completion-index\": \"1\"},"
	    " \"annotations\": {\"aisched.io/store\": \"s\","
	    " \"aisched.io/pool\": \"p\", \"aisched.io/attempt\": \"1\","
	    " \"aisched.io/index\": \"0,1\", \"aisched.io/node\": \"n0\","
	    " \"aisched.io/gpus\": \"0=n0/a,1=n0/b\"}, %s}, %s}",
	    meta, rest);
	json_t *obj = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(obj);
	if (what == SEE_PODS)
		kube_pods_news(st.kube, KUBE_ADDED, obj);
	else
		kube_devices_news(st.kube, what, KUBE_ADDED, obj);
	json_decref(obj);
	free(text);
}

/* The daemon was killed when only the second of two pods was bound. It makes
 * the start again: the pod is still that of the task with the pod's GPU. */
START_TEST(a_bound_pod_keeps_its_task_by_its_gpu)
{
	static const struct kube_owner id = { 7, 1 };
	static const char *const node[] = { "n0", "n0" };
	static const struct snap_task task[3] = { { .gpus = 1 },
		                                  { .gpus = 2 } };
	struct kube_attempt *a;
	struct spec spec;

	spec_init(&spec);
	job_seen(&st.space, "ours", "2");
	seen(SEE_GRANTS, "\"name\": \"aj-c-7-1-0\", \"uid\": \"u\"",
	     "\"status\": {}");
	seen(SEE_PODS,
	     "\"name\": \"p\", \"uid\": \"v\", \"ownerReferences\":"
	     " [{\"uid\": \"ours\", \"controller\": true}]",
	     "\"spec\": {\"nodeName\": \"n0\"}, \"status\": {}");
	ck_assert_str_eq(recover("n"), "ours");
	a = kube_attempt_find(st.kube, &id);
	ck_assert(!a->start.told);
	kube_slot_set_all(a, &(struct run_job){ .ntasks = 2,
	                                        .node_name = node,
	                                        .task = task,
	                                        .spec = &spec });
	ck_assert_uint_eq(a->slots.slot[0].index, 0);
	ck_assert_uint_eq(a->slots.slot[1].index, 1);
}
END_TEST

SUITE(kube_recover)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, an_attempt_is_looked_for_in_its_namespace);
	tcase_add_test(tc, a_job_elsewhere_does_not_stand_in);
	tcase_add_test(tc,
	               an_attempt_of_an_older_version_is_looked_for_everywhere);
	tcase_add_test(tc, a_job_without_tasks_is_not_ours);
	tcase_add_test(tc, a_bound_pod_keeps_its_task_by_its_gpu);
}
