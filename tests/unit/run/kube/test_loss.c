/* test_loss.c - pods that are lost with their nodes, and those that replace
 * them */
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/answer.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/log_pods.h"
#include "aischedd/run/kube/look.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

static struct kube_stage st;
static struct kube_attempt *a;
static const char *const nodes[] = { "n0", "n1", "n2", "n3" };

/* Job 1: a gang of two tasks that are placed anew; at most one pod of each task
 * may fail. */
static void set_up(void)
{
	stage_begin(&st);
	a = stage_job(&st, 1, 2);
	a->make.replace = 1;
	a->make.loss = (struct spec_loss){ 1, 2 };
}

static void tear_down(void)
{
	stage_end(&st);
}

/* Lose the pod of task 0, which the daemon then places on this node. */
static void lose(struct kube_task *task, bool disrupted, const char *node)
{
	const char *const to[] = { node, "n1" };

	stage_lose(task, "Evicted", disrupted);
	a->telling.lost_ms = clock_boot_ms() - 3600000;
	ck_assert(!kube_look_at(a).bad);
	stage_resize(a, 2, to);
	ck_assert_uint_eq(a->slots.slot[0].index, 0);
	ck_assert_str_eq(a->slots.slot[0].after, task->pod.uid);
	ck_assert(!kube_look_at(a).bad);
}

START_TEST(a_task_whose_index_gets_no_further_pod_ends_the_job)
{
	stage_pod(a, 1, "other", "n1");
	lose(stage_pod(a, 0, "one", "n0"), false, "n2");
	lose(stage_pod(a, 0, "two", "n2"), true, "n3");
	stage_lose(stage_pod(a, 0, "three", "n3"), "OutOfcpu", false);
	ck_assert(kube_look_at(a).bad);
	ck_assert_uint_eq(st.ntold, 2);
}
END_TEST

START_TEST(pods_that_this_daemon_has_not_seen_count)
{
	struct kube_task *task = stage_pod(a, 0, "two", "n2");

	stage_pod(a, 1, "other", "n1");
	task->pod.fails = 1;
	stage_lose(task, "OutOfcpu", false);
	ck_assert(!kube_task_comes_back(a, task));
	ck_assert(kube_look_at(a).bad);
}
END_TEST

START_TEST(a_pod_that_ended_well_while_it_was_deleted_has_no_successor)
{
	struct kube_task *task = stage_pod(a, 0, "one", "n0");

	stage_pod(a, 1, "other", "n1");
	task->pod.phase = POD_SUCCEEDED;
	task->pod.deleting = true;
	ck_assert(!kube_task_comes_back(a, task));
	ck_assert(kube_look_at(a).bad);
}
END_TEST

START_TEST(disrupted_pods_have_successors_without_limit)
{
	char name[2] = "a";

	stage_pod(a, 1, "other", "n1");
	for (int i = 0; i < 4; i++, name[0]++)
		lose(stage_pod(a, 0, name, i % 2 ? "n2" : "n0"), true,
		     i % 2 ? "n0" : "n2");
	ck_assert_uint_eq(st.ntold, 4);
}
END_TEST

START_TEST(losses_in_a_row_are_told_ever_later)
{
	static const int64_t waits[] = { 1000, 2000, 4000 };
	char name[2] = "a";

	stage_pod(a, 1, "other", "n1");
	stage_lose(stage_pod(a, 0, name, "n0"), "Evicted", true);
	kube_look_at(a);
	ck_assert_uint_eq(st.ntold, 1);
	for (unsigned i = 0; i < ARRAY_SIZE(waits); i++) {
		name[0]++;
		stage_resize(a, 2, nodes);
		stage_lose(stage_pod(a, 0, name, "n0"), "Evicted", true);
		a->telling.lost_ms = clock_boot_ms() - waits[i] / 2;
		kube_look_at(a);
		ck_assert_uint_eq(st.ntold, i + 1);
		a->telling.lost_ms = clock_boot_ms() - waits[i];
		kube_look_at(a);
		ck_assert_uint_eq(st.ntold, i + 2);
	}
	name[0]++;
	stage_resize(a, 2, nodes);
	stage_lose(stage_pod(a, 0, name, "n0"), "Evicted", true);
	a->telling.losses = 40;
	a->telling.lost_ms = clock_boot_ms() - 300000;
	kube_look_at(a);
	ck_assert_uint_eq(st.ntold, ARRAY_SIZE(waits) + 2);
}
END_TEST

START_TEST(a_node_that_does_not_take_a_task_is_told)
{
	struct kube_task *task = stage_pod(a, 0, "one", "n0");

	stage_pod(a, 1, "other", "n1");
	a->slots.resize = 7;
	task->pod.ran = false;
	stage_lose(task, "OutOfcpu", false);
	kube_look_at(a);
	ck_assert_uint_eq(st.ntold, 1);
	ck_assert_uint_eq(st.last.nodes.n, 1);
	ck_assert_uint_eq(st.last.refused.n, 1);
	ck_assert_uint_eq(st.last.resize, 7);
	stage_resize(a, 2, nodes);
	a->telling.losses = 0;
	stage_lose(stage_pod(a, 0, "two", "n0"), "Evicted", true);
	kube_look_at(a);
	ck_assert_uint_eq(st.ntold, 2);
	ck_assert_uint_eq(st.last.refused.n, 0);
}
END_TEST

/* --- pods that do not start --- */

START_TEST(a_start_that_a_kubelet_refuses_blames_that_node_only)
{
	struct kube_task *task = stage_pod(a, 1, "one", "n1");

	a->start.told = false;
	stage_pod(a, 0, "other", "n0");
	task->pod.ran = false;
	stage_lose(task, "TopologyAffinityError", false);
	kube_look_at(a);
	ck_assert_int_eq(a->end.whose, FAULT_REFUSED);
	ck_assert(!a->slots.slot[0].failed && a->slots.slot[1].failed);
	ck_assert_str_eq(a->end.fault.text, "node 'n1' does not take pod one: "
	                                    "TopologyAffinityError");
}
END_TEST

START_TEST(a_task_placed_anew_that_does_not_start_is_given_up)
{
	struct kube_task *task = stage_pod(a, 0, "one", "n0");

	stage_lease(&st);
	st.conf.scheduling.start_timeout = 300;
	stage_pod(a, 1, "other", "n1");
	task->pod.ran = false;
	kube_look_at(a);
	ck_assert_int_ne(a->slots.slot[0].since_ms, 0);
	ck_assert_uint_eq(a->calls.open[ASK_LOSE], 0);
	a->slots.slot[0].since_ms -= 301000;
	kube_look_at(a);
	kube_look_at(a);
	ck_assert_uint_eq(a->calls.open[ASK_LOSE], 1);
	ck_assert_uint_eq(st.ntold, 0);
}
END_TEST

START_TEST(one_that_cannot_be_bound_goes_elsewhere)
{
	static const char *const elsewhere[] = { "n3", "n1" };
	struct kube_task *task = stage_pod(a, 0, "one", "");

	stage_lease(&st);
	st.conf.scheduling.start_timeout = 300;
	stage_pod(a, 1, "other", "n1");
	task->pod.ran = false;
	kube_look_at(a);
	a->slots.slot[0].since_ms -= 301000;
	kube_look_at(a);
	ck_assert_str_eq(st.told.data,
	                 "task 0 is lost: pod one on node n0: it did not run "
	                 "within 300 s; it is placed anew|");
	ck_assert_uint_eq(a->calls.open[ASK_LOSE], 0);
	stage_resize(a, 2, elsewhere);
	ck_assert_uint_eq(a->slots.slot[0].index, 0);
	ck_assert_str_eq(a->slots.slot[0].node, "n3");
	ck_assert_ptr_null(a->slots.slot[0].after);
	ck_assert(kube_make_may_bind(task));
}
END_TEST

/* --- tasks that get their GPUs by ResourceClaims --- */

static void seen(int what, const char *text)
{
	json_t *obj = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(obj);
	kube_devices_news(st.kube, what, KUBE_ADDED, obj);
	json_decref(obj);
}

/* Show the claim of task 0, which was made for GPU g of node n0; allocated to
 * the pod of this uid, or to none if it is NULL. */
static void show_claim(const char *version, const char *uid)
{
	char *status = xasprintf(
	    "{\"allocation\": {\"devices\": {\"results\": [{\"driver\": \"d\","
	    " \"pool\": \"n0\", \"device\": \"g\"}]}}, \"reservedFor\":"
	    " [{\"uid\": \"%s\"}]}",
	    uid ? uid : "");
	char *text = xasprintf(
	    "{\"metadata\": {\"namespace\": \"n\", \"name\": \"aj-c-1-1-0\","
	    " \"uid\": \"u\", \"resourceVersion\": \"%s\", \"labels\":"
	    " {\"aisched.io/cluster\": \"c\", \"aisched.io/job-id\": \"1\"},"
	    " \"annotations\": {\"aisched.io/store\": \"s\","
	    " \"aisched.io/pool\": \"p\", \"aisched.io/attempt\": \"1\","
	    " \"aisched.io/index\": \"0\", \"aisched.io/node\": \"n0\","
	    " \"aisched.io/gpus\": \"0=n0/g\"}}, \"status\": %s}",
	    version, uid ? status : "{}");

	seen(SEE_GRANTS, text);
	free(text);
	free(status);
}

/* Let each of four nodes show a GPU g. Task 0 moves from n0 to n2, and waits
 * there in a pod that is not bound. */
static void move(void)
{
	static char driver[] = "d";

	stage_pod(a, 0, "two", "");
	st.pool.device_driver = driver;
	for (int i = 0; i < 4; i++) {
		char *text = xasprintf(
		    "{\"metadata\": {\"name\": \"s%d\"}, \"spec\": {\"driver\":"
		    " \"d\", \"nodeName\": \"n%d\", \"pool\": {\"name\": \"n%d\","
		    " \"generation\": 1, \"resourceSliceCount\": 1},"
		    " \"devices\": [{\"name\": \"g\"}]}}",
		    i, i, i);

		seen(SEE_SLICES, text);
		free(text);
	}
	a->give.by_claims = true;
	stage_lease(&st);
	free(a->slots.slot[0].node);
	a->slots.slot[0].node = xstrdup("n2");
	a->slots.slot[0].gpus = 1;
}

START_TEST(a_claim_is_deleted_when_it_is_free)
{
	move();
	show_claim("1", "uid-one");
	ck_assert(!kube_give_step(a));
	ck_assert(!kube_ask_is_open(a));
	show_claim("2", NULL);
	ck_assert(!kube_give_step(a));
	ck_assert_uint_eq(a->calls.open[ASK_GRANT_DROP], 1);
	ck_assert(!kube_give_step(a));
	ck_assert_uint_eq(a->calls.open[ASK_GRANT_DROP], 1);
	ck_assert_uint_eq(a->calls.open[ASK_GRANT], 0);
}
END_TEST

START_TEST(a_pod_that_got_gpus_elsewhere_makes_way_for_another)
{
	move();
	show_claim("1", "uid-two");
	ck_assert(!kube_give_step(a));
	ck_assert_uint_eq(a->calls.open[ASK_LOSE], 1);
	ck_assert_uint_eq(a->calls.open[ASK_GRANT_DROP], 0);
}
END_TEST

START_TEST(a_claim_of_an_attempt_that_has_not_started_stays)
{
	move();
	a->start.told = false;
	show_claim("1", NULL);
	ck_assert(!kube_give_step(a));
	ck_assert(!kube_ask_is_open(a));
	ck_assert_str_eq(a->end.fault.text,
	                 "ResourceClaim 'aj-c-1-1-0' in namespace 'n' exists "
	                 "and is for other devices: delete it");
}
END_TEST

START_TEST(a_task_whose_gpu_is_gone_goes_elsewhere)
{
	move();
	stage_pod(a, 1, "other", "n1");
	a->slots.slot[0].gpus = 2;
	ck_assert(!kube_give_step(a));
	kube_look_at(a);
	ck_assert_str_eq(st.told.data,
	                 "task 0 is lost: pod two on node n2: node 'n2' no "
	                 "longer shows a GPU that it was to have; it is "
	                 "placed anew|");
}
END_TEST

/* Until the daemon hears of the loss, it counts the GPU itself. */
START_TEST(a_gpu_is_held_from_the_report_of_the_loss_on)
{
	const struct kube_claimed *claim;

	move();
	free(a->slots.slot[0].node);
	a->slots.slot[0].node = xstrdup("n0");
	show_claim("1", "uid-one");
	claim = kube_devices_claim(st.kube, "n", "aj-c-1-1-0");
	ck_assert(kube_devices_is_planned(st.kube, claim));
	a->slots.slot[0].gpus = 2;
	ck_assert(!kube_devices_is_planned(st.kube, claim));
	a->slots.slot[0].gpus = 1;
	a->slots.slot[0].told = true;
	ck_assert(!kube_devices_is_planned(st.kube, claim));
}
END_TEST

/* --- logs, counts of pods, older Jobs --- */

START_TEST(a_reader_of_its_log_waits_for_the_next_pod)
{
	struct log_id id = { .job = 1, .attempt = 1, .again = 1 };
	struct kube_task *task = stage_pod(a, 0, "one", "n0");

	stage_pod(a, 1, "other", "n1");
	stage_lose(task, "Evicted", true);
	ck_assert(!kube_log_pods_next(&st.kube->runner, &id, true));
	a->end.failing = true;
	ck_assert(kube_log_pods_next(&st.kube->runner, &id, true));
	ck_assert_uint_eq(id.task, 1);
}
END_TEST

START_TEST(pods_are_counted_once_while_their_attempt_is_not_known)
{
	struct kube_task *task = stage_pod(a, 0, "one", "n0");
	struct kube_recovery *r = &st.kube->recovery;

	map_set(&r->open, kube_attempt_key(1, 1), r);
	TAILQ_REMOVE(&a->tasks, task, of_list);
	TAILQ_INSERT_TAIL(&st.kube->pods.loose, task, of_list);
	task->attempt = NULL;
	kube_task_count(st.kube, task);
	ck_assert(!task->counted);
}
END_TEST

/* A Job of an older version has no annotations, and the Job controller makes no
 * pods in place of lost ones. */
START_TEST(the_job_says_whether_it_goes_on_without_lost_tasks)
{
	static const char old[] = "{\"metadata\": {\"uid\": \"u\", \"labels\": "
				  "{\"aisched.io/cluster\": \"c\", "
				  "\"aisched.io/job-id\": \"1\"}, "
				  "\"annotations\": {\"aisched.io/store\": "
				  "\"s\", \"aisched.io/pool\": \"p\", "
				  "\"aisched.io/attempt\": \"1\", "
				  "\"aisched.io/tasks\": \"2\"}}}";
	json_t *job = json_loads(old, 0, NULL);
	json_t *notes =
	    json_object_get(json_object_get(job, "metadata"), "annotations");

	kube_answer_take(a, ASK_JOB, NULL,
	                 &(struct kube_answer){ .body = job });
	ck_assert_str_eq(a->uid, "u");
	ck_assert_uint_eq(a->make.loss.least, 0);
	json_object_set_new(notes, KUBE_NOTE_LEAST, json_string("1"));
	json_object_set_new(notes, KUBE_NOTE_WHOLE, json_string("2"));
	kube_answer_take(a, ASK_JOB, NULL,
	                 &(struct kube_answer){ .body = job });
	ck_assert_uint_eq(a->make.loss.least, 1);
	ck_assert_uint_eq(a->make.loss.whole, 2);
	json_decref(job);
}
END_TEST

SUITE(kube_loss)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_task_whose_index_gets_no_further_pod_ends_the_job);
	tcase_add_test(
	    tc, a_pod_that_ended_well_while_it_was_deleted_has_no_successor);
	tcase_add_test(tc, pods_that_this_daemon_has_not_seen_count);
	tcase_add_test(tc, disrupted_pods_have_successors_without_limit);
	tcase_add_test(tc, losses_in_a_row_are_told_ever_later);
	tcase_add_test(tc, a_node_that_does_not_take_a_task_is_told);
	tcase_add_test(tc,
	               a_start_that_a_kubelet_refuses_blames_that_node_only);
	tcase_add_test(tc, a_task_placed_anew_that_does_not_start_is_given_up);
	tcase_add_test(tc, one_that_cannot_be_bound_goes_elsewhere);
	tcase_add_test(tc, a_claim_is_deleted_when_it_is_free);
	tcase_add_test(tc, a_pod_that_got_gpus_elsewhere_makes_way_for_another);
	tcase_add_test(tc, a_claim_of_an_attempt_that_has_not_started_stays);
	tcase_add_test(tc, a_task_whose_gpu_is_gone_goes_elsewhere);
	tcase_add_test(tc, a_gpu_is_held_from_the_report_of_the_loss_on);
	tcase_add_test(tc, a_reader_of_its_log_waits_for_the_next_pod);
	tcase_add_test(tc,
	               pods_are_counted_once_while_their_attempt_is_not_known);
	tcase_add_test(tc, the_job_says_whether_it_goes_on_without_lost_tasks);
}
