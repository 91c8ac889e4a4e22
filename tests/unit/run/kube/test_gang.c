/* test_gang.c - pods of a gang that have one claim for their GPUs */
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/device/devices.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

static struct kube_stage st;
static struct kube_attempt *a;
static struct spec spec;
static const struct run_job job = { .spec = &spec };

static void seen(int what, char *text)
{
	json_t *obj = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(obj);
	kube_devices_news(st.kube, what, KUBE_ADDED, obj);
	json_decref(obj);
	free(text);
}

/* Let the slots of the attempt have these GPUs. */
static void give(const uint64_t *gpus)
{
	for (uint32_t i = 0; i < a->slots.n; i++)
		a->slots.slot[i].gpus = gpus[i];
}

static void pod(int32_t index, const char *name)
{
	struct kube_pod *pod = &stage_pod(a, index, name, "")->pod;

	pod->phase = POD_PENDING;
	pod->claim = xstrdup("");
}

/* Job 1: a gang of three tasks with a GPU each, two of them on n0. Its pods are
 * not bound yet. */
static void set_up(void)
{
	static const char *const node[] = { "n0", "n1", "n0" };
	static char driver[] = "d", class[] = "c";

	stage_begin(&st);
	stage_lease(&st);
	st.pool.device_driver = driver;
	st.pool.device_class = class;
	for (int i = 0; i < 2; i++)
		seen(SEE_SLICES,
		     xasprintf("{\"metadata\": {\"name\": \"s%d\"}, \"spec\":"
		               " {\"driver\": \"d\", \"nodeName\": \"n%d\","
		               " \"pool\": {\"name\": \"n%d\", \"generation\":"
		               " 1, \"resourceSliceCount\": 1}, \"devices\":"
		               " [{\"name\": \"g0\"}, {\"name\": \"g1\"}]}}",
		               i, i, i));
	a = stage_job(&st, 1, 3);
	stage_resize(a, 3, node);
	a->start.told = false;
	a->give.by_claims = true;
	a->uid = xstrdup("u");
	give((const uint64_t[]){ 2, 1, 1 });
	pod(0, "a");
	pod(1, "b");
	pod(2, "c");
	spec_init(&spec);
}

static void tear_down(void)
{
	stage_end(&st);
}

/* Show the claim of pod 0 for pods of these indexes; devices: what is allocated
 * to it, or NULL. reserved: the uids of pods. */
static void show_claim(const char *version, const char *indexes,
                       const char *gpus, const char *results,
                       const char *reserved)
{
	char *status = xasprintf("{\"allocation\": {\"devices\": {\"results\":"
	                         " [%s]}}, \"reservedFor\": [%s]}",
	                         results, reserved);

	seen(SEE_GRANTS,
	     xasprintf(
		 "{\"metadata\": {\"namespace\": \"n\", \"name\":"
		 " \"aj-c-1-1-0\", \"uid\": \"u\", \"resourceVersion\":"
		 " \"%s\", \"finalizers\":"
		 " [\"resource.kubernetes.io/delete-protection\"], \"labels\":"
		 " {\"aisched.io/cluster\": \"c\", \"aisched.io/job-id\":"
		 " \"1\"}, \"annotations\": {\"aisched.io/store\": \"s\","
		 " \"aisched.io/pool\": \"p\", \"aisched.io/attempt\": \"1\","
		 " \"aisched.io/index\": \"%s\", \"aisched.io/node\": \"n0\","
		 " \"aisched.io/gpus\": \"%s\"}}, \"status\": %s}",
		 version, indexes, gpus, *results ? status : "{}"));
	free(status);
}

static const char both[] =
    "{\"driver\": \"d\", \"pool\": \"n0\", \"device\": \"g1\"},"
    " {\"driver\": \"d\", \"pool\": \"n0\", \"device\": \"g0\"}";

static const struct kube_claimed *shown(void)
{
	return kube_devices_claim(st.kube, "n", "aj-c-1-1-0");
}

START_TEST(pods_on_a_node_have_one_claim)
{
	kube_gang_order(a, &job);
	ck_assert_uint_eq(kube_gang_first(a, 0), 0);
	ck_assert_uint_eq(kube_gang_next(a, 0), 2);
	ck_assert_uint_eq(kube_gang_first(a, 1), 1);
	ck_assert_uint_eq(kube_gang_next(a, 1), 0);
	ck_assert_uint_eq(kube_gang_first(a, 2), 0);
	ck_assert_uint_eq(kube_gang_next(a, 2), 0);
	ck_assert(!kube_give_step(a));
	ck_assert_uint_eq(a->calls.open[ASK_GRANT], 2);
	ck_assert(!kube_give_step(a));
	ck_assert_uint_eq(a->calls.open[ASK_GRANT], 2);
}
END_TEST

/* Whether each pod of the gang has a claim of its own. */
static bool each_has_its_own(void)
{
	kube_gang_order(a, &job);
	return kube_gang_first(a, 2) == 2 && !kube_gang_next(a, 0);
}

START_TEST(tasks_that_may_go_alone_have_claims_of_their_own)
{
	static char devs[] = "rdma/p/d", replace[] = "replace";

	a->slots.slot[2].devs = devs;
	ck_assert(each_has_its_own());
	a->slots.slot[2].devs = NULL;
	a->slots.slot[2].milli = 500;
	ck_assert(each_has_its_own());
	a->slots.slot[2].milli = 1000;
	a->slots.slot[2].part = (struct kube_part){ 1, 1 };
	ck_assert(each_has_its_own());
	a->slots.slot[2].part = (struct kube_part){ 0 };
	give((const uint64_t[]){ 2, 1, 3 });
	ck_assert(each_has_its_own());
	give((const uint64_t[]){ 2, 1, 1 });
	spec.min_tasks = 1;
	ck_assert(each_has_its_own());
	spec.min_tasks = SPEC_UNSET;
	spec.on_task_failure = replace;
	a->make.replace = 3;
	ck_assert(each_has_its_own());
	a->make.replace = 0;
	spec.on_task_failure = NULL;
	ck_assert(!each_has_its_own());
}
END_TEST

START_TEST(a_claim_that_was_made_for_one_pod_stays_so)
{
	show_claim("1", "0", "1=n0/g1", "", "");
	ck_assert(each_has_its_own());
}
END_TEST

START_TEST(a_claim_has_32_gpus_at_most)
{
	static const char *node[40];
	uint64_t gpus[40];

	a = stage_job(&st, 2, 1);
	a->give.by_claims = true;
	for (int i = 0; i < 40; i++) {
		node[i] = i ? "n9" : "n0";
		gpus[i] = 3;
	}
	stage_resize(a, 40, node);
	give(gpus);
	kube_gang_order(a, &job);
	ck_assert_uint_eq(kube_gang_first(a, 16), 1);
	ck_assert_uint_eq(kube_gang_next(a, 16), 0);
	ck_assert_uint_eq(kube_gang_first(a, 17), 17);
	ck_assert_uint_eq(kube_gang_first(a, 39), 33);
}
END_TEST

START_TEST(its_pods_are_named_in_the_claim_and_then_bound)
{
	kube_gang_order(a, &job);
	show_claim("1", "0,2", "1=n0/g1,0=n0/g0", "", "");
	ck_assert_uint_eq(kube_devices_bits_of(st.kube, shown(), 0), 2);
	ck_assert_uint_eq(kube_devices_bits_of(st.kube, shown(), 2), 1);
	ck_assert_uint_eq(kube_devices_bits_of(st.kube, shown(), 1), 0);
	ck_assert(kube_devices_is_planned(st.kube, shown()));
	ck_assert(!kube_give_step(a));
	ck_assert_uint_eq(a->calls.open[ASK_GRANT_FILL], 1);
	ck_assert_uint_eq(shown()->n, 2);
	kube_attempt_at(a, 0)->giving = false;
	show_claim("2", "0,2", "1=n0/g1,0=n0/g0", both,
	           "{\"uid\": \"uid-a\"}, {\"uid\": \"uid-c\"}");
	ck_assert(!kube_give_step(a));
	ck_assert_uint_eq(a->calls.open[ASK_GRANT_MAP], 2);
	ck_assert_uint_eq(a->calls.open[ASK_GRANT_FILL], 1);
}
END_TEST

/* The cluster has made another pod of index 2, as the first one was deleted. */
START_TEST(a_further_pod_is_added_when_the_cluster_has_removed_the_first)
{
	kube_gang_order(a, &job);
	pod(2, "d");
	show_claim("1", "0,2", "1=n0/g1,0=n0/g0", both,
	           "{\"uid\": \"uid-a\"}, {\"uid\": \"uid-gone\"}");
	ck_assert(!kube_give_step(a));
	ck_assert_uint_eq(a->calls.open[ASK_GRANT_FILL], 0);
	show_claim("2", "0,2", "1=n0/g1,0=n0/g0", both, "{\"uid\": \"uid-a\"}");
	ck_assert(!kube_give_step(a));
	ck_assert_uint_eq(a->calls.open[ASK_GRANT_FILL], 1);
	ck_assert_uint_eq(a->calls.open[ASK_GRANT_MAP], 0);
}
END_TEST

START_TEST(a_claim_for_other_pods_is_not_used)
{
	kube_gang_order(a, &job);
	show_claim("1", "0,1", "1=n0/g1,0=n0/g0", "", "");
	ck_assert(!kube_give_step(a));
	ck_assert_str_eq(a->end.fault.text,
	                 "ResourceClaim 'aj-c-1-1-0' in namespace 'n' exists "
	                 "and is for other devices: delete it");
}
END_TEST

START_TEST(the_gpus_of_each_pod_are_known_after_a_restart)
{
	struct kube_part part;

	show_claim("1", "0,2", "1=n0/g1,0=n0/g0", both,
	           "{\"uid\": \"uid-a\"}, {\"uid\": \"uid-c\"}");
	give((const uint64_t[]){ 0, 0, 0 });
	a->give.by_claims = false;
	a->slots.have = 3;
	kube_give_recall(a);
	ck_assert(a->give.by_claims);
	ck_assert_uint_eq(a->slots.slot[0].gpus, 2);
	ck_assert_uint_eq(a->slots.slot[1].gpus, 0);
	ck_assert_uint_eq(a->slots.slot[2].gpus, 1);
	ck_assert_uint_eq(kube_give_found(a, 2, &part), 1);
	ck_assert(kube_give_holds(a, 2));
	ck_assert(kube_devices_is_planned(st.kube, shown()));
	a->slots.slot[2].gpus = 2;
	ck_assert(!kube_devices_is_planned(st.kube, shown()));
}
END_TEST

/* --- the objects --- */

static bool is_json(json_t *got, const char *text)
{
	json_t *want = json_loads(text, 0, NULL);
	bool same = json_equal(got, want);

	ck_assert_ptr_nonnull(want);
	if (!same)
		json_dumpf(got, stderr, 0);
	json_decref(want);
	return same;
}

START_TEST(each_pod_has_a_request)
{
	const struct kube_home home = kube_space_home(&st.space);
	struct kube_given given = { .n = 2, .npods = 2, .pod = { 0, 2 } };
	json_t *obj, *full, *patch;

	given.milli = 1000;
	for (uint32_t i = 0; i < 2; i++) {
		given.gpu[i].number = 1 - i;
		given.gpu[i].pool = "n0";
		given.gpu[i].name = given.gpu[i].of = i ? "g0" : "g1";
	}
	obj = kube_grant_object(&(struct kube_grant_of){ .home = &home,
	                                                 .owner = { 1, 1 },
	                                                 .job = "aj-c-1-1",
	                                                 .uid = "u",
	                                                 .node = "n0" },
	                        &given, NULL);
	ck_assert(is_json(
	    json_object_get(json_object_get(obj, "spec"), "devices"),
	    "{\"requests\": [{\"name\": \"gpus-0\", \"exactly\":"
	    " {\"deviceClassName\": \"c\", \"allocationMode\":"
	    " \"ExactCount\", \"count\": 1}}, {\"name\": \"gpus-2\","
	    " \"exactly\": {\"deviceClassName\": \"c\", \"allocationMode\":"
	    " \"ExactCount\", \"count\": 1}}]}"));
	full = kube_grant_allocated(
	    obj, "d", "n0", &given, NULL,
	    kube_grant_pods(kube_grant_pods(NULL, "a", "uid-a"), "c", "uid-c"));
	ck_assert(is_json(
	    json_object_get(
		json_object_get(json_object_get(json_object_get(full, "status"),
	                                        "allocation"),
	                        "devices"),
		"results"),
	    "[{\"request\": \"gpus-0\", \"driver\": \"d\", \"pool\": \"n0\","
	    " \"device\": \"g1\"}, {\"request\": \"gpus-2\", \"driver\":"
	    " \"d\", \"pool\": \"n0\", \"device\": \"g0\"}]"));
	ck_assert(is_json(
	    json_object_get(json_object_get(full, "status"), "reservedFor"),
	    "[{\"resource\": \"pods\", \"name\": \"a\", \"uid\": \"uid-a\"},"
	    " {\"resource\": \"pods\", \"name\": \"c\", \"uid\":"
	    " \"uid-c\"}]"));
	patch = kube_grant_mapping(obj, "uid-c", "gpus-2");
	ck_assert(is_json(
	    json_object_get(json_object_get(json_object_get(patch, "status"),
	                                    "extendedResourceClaimStatus"),
	                    "requestMappings"),
	    "[{\"containerName\": \"main\", \"resourceName\":"
	    " \"deviceclass.resource.kubernetes.io/c\", \"requestName\":"
	    " \"gpus-2\"}]"));
	json_decref(obj);
	json_decref(full);
	json_decref(patch);
}
END_TEST

SUITE(kube_gang)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, pods_on_a_node_have_one_claim);
	tcase_add_test(tc, tasks_that_may_go_alone_have_claims_of_their_own);
	tcase_add_test(tc, a_claim_that_was_made_for_one_pod_stays_so);
	tcase_add_test(tc, a_claim_has_32_gpus_at_most);
	tcase_add_test(tc, its_pods_are_named_in_the_claim_and_then_bound);
	tcase_add_test(
	    tc, a_further_pod_is_added_when_the_cluster_has_removed_the_first);
	tcase_add_test(tc, a_claim_for_other_pods_is_not_used);
	tcase_add_test(tc, the_gpus_of_each_pod_are_known_after_a_restart);
	tcase_add_test(tc, each_pod_has_a_request);
}
