/* test_claims.c - claims that compete for free volumes, and many of them */
#include "aischedd/run/kube/claim/claims.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/claim/spare.h"
#include "aischedd/run/kube/make.h"
#include "aischedd/run/kube/object/volume.h"
#include "tests/unit/check.h"
#include "tests/unit/run/kube/stage.h"

#define ASKS                                           \
	"'storageClassName': 'local', 'accessModes': " \
	"['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}"

static struct kube_stage st;

static void seen(int what, const char *text)
{
	char *copy = xstrdup(text);
	json_t *obj;

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	obj = json_loads(copy, 0, NULL);
	ck_assert_msg(obj != NULL, "%s", copy);
	kube_claims_news(st.kube, what == SEE_CLAIMS ? &st.space : NULL, what,
	                 KUBE_ADDED, obj);
	json_decref(obj);
	free(copy);
}

static void set_up(void)
{
	stage_begin(&st);
	seen(SEE_CLASSES, "{'metadata': {'name': 'local'}, 'provisioner': "
	                  "'kubernetes.io/no-provisioner'}");
	seen(SEE_VOLUMES, "{'metadata': {'name': 'v'}, 'spec': {"
	                  "'storageClassName': 'local', 'accessModes': "
	                  "['ReadWriteOnce'], 'capacity': {'storage': '2Gi'}}, "
	                  "'status': {'phase': 'Available'}}");
	seen(SEE_CLAIMS, "{'metadata': {'name': 'a', 'namespace': 'n', "
	                 "'uid': 'u-a'}, 'spec': {" ASKS "}}");
	seen(SEE_CLAIMS, "{'metadata': {'name': 'b', 'namespace': 'n', "
	                 "'uid': 'u-b'}, 'spec': {" ASKS "}}");
}

static void tear_down(void)
{
	kube_claims_free(&st.kube->claims);
	stage_end(&st);
}

/* Let a start on node n0 look at this claim. */
static enum kube_claims_state look(const char *mount,
                                   struct kube_claims_next *ret)
{
	static const char *const node[] = { "n0" };

	return kube_claims_look(&st.space, mount, node, 1, UINT32_MAX, ret);
}

/* Whether the daemon is told that the claim gets a volume on each node. */
static bool is_offered(const char *claim)
{
	const struct kube_seen *c =
	    map_find(&st.kube->claims.claims, kube_space_key(&st.space, claim));
	struct buf text = { 0 };
	bool all;

	kube_claims_tell(st.kube);
	all = kube_spare_nodes(st.kube, c, &text);
	ck_assert_uint_eq(text.len, 0);
	buf_free(&text);
	return all;
}

START_TEST(a_picked_volume_is_free_for_no_other_claim)
{
	struct kube_claims_next next;

	ck_assert(is_offered("a") && is_offered("b"));
	ck_assert_int_eq(look("pvc:a:/a", &next), CLAIMS_ASK);
	ck_assert_str_eq(next.volume, "v");
	ck_assert(is_offered("a"));
	ck_assert(!is_offered("b"));
}
END_TEST

START_TEST(a_volume_that_a_claim_names_is_free_for_no_other)
{
	seen(SEE_CLAIMS,
	     "{'metadata': {'name': 'a', 'namespace': 'n', "
	     "'uid': 'u-a'}, 'spec': {'volumeName': 'v', " ASKS "}}");
	ck_assert(!is_offered("b"));
}
END_TEST

/* The claim could not be bound to the volume that it names. */
START_TEST(a_claim_that_names_a_volume_in_vain_keeps_it_not)
{
	seen(SEE_CLAIMS, "{'metadata': {'name': 'a', 'namespace': 'n', 'uid': "
	                 "'u-a'}, 'spec': {'volumeName': 'v', "
	                 "'storageClassName': 'local', 'accessModes': "
	                 "['ReadWriteOnce'], 'resources': {'requests': "
	                 "{'storage': '3Gi'}}}}");
	ck_assert(is_offered("b"));
}
END_TEST

START_TEST(no_claim_is_changed_if_another_gets_no_volume)
{
	struct kube_claims_next next;

	ck_assert_int_eq(look("pvc:a:/a,pvc:b:/b", &next), CLAIMS_REFUSED);
	ck_assert_str_eq(next.text, "no free volume on node 'n0' suits volume "
	                            "claim 'b'");
	ck_assert(is_offered("a") && is_offered("b"));
}
END_TEST

START_TEST(no_claim_is_changed_while_another_is_missing)
{
	struct kube_claims_next next;

	ck_assert_int_eq(look("pvc:a:/a,pvc:x:/x", &next), CLAIMS_WAIT);
	ck_assert_str_eq(next.text, "volume claim 'x' is not there");
	ck_assert(is_offered("b"));
}
END_TEST

START_TEST(claims_of_a_job_get_different_volumes)
{
	struct kube_claims_next next;

	seen(SEE_VOLUMES, "{'metadata': {'name': 'w'}, 'spec': {"
	                  "'storageClassName': 'local', 'accessModes': "
	                  "['ReadWriteOnce'], 'capacity': {'storage': '3Gi'}}, "
	                  "'status': {'phase': 'Available'}}");
	ck_assert_int_eq(look("pvc:a:/a,pvc:b:/b", &next), CLAIMS_ASK);
	ck_assert_str_eq(next.claim, "a");
	ck_assert_str_eq(next.volume, "v");
	seen(SEE_CLAIMS,
	     "{'metadata': {'name': 'a', 'namespace': 'n', "
	     "'uid': 'u-a'}, 'spec': {'volumeName': 'v', " ASKS "}}");
	ck_assert_int_eq(look("pvc:a:/a,pvc:b:/b", &next), CLAIMS_ASK);
	ck_assert_str_eq(next.claim, "b");
	ck_assert_str_eq(next.volume, "w");
}
END_TEST

START_TEST(a_start_without_its_volume_blames_no_node)
{
	struct kube_attempt *a = stage_job(&st, 1, 1);
	struct kube_claims_next next;

	look("pvc:a:/a", &next);
	a->start.told = false;
	a->uid = xstrdup("u-1");
	a->make.mount = xstrdup("pvc:b:/b");
	a->make.refusals = UINT32_MAX;
	a->slots.slot[0].seen = true;
	kube_make_bindings(a);
	ck_assert_str_eq(a->end.fault.text, "no free volume on node 'n0' suits "
	                                    "volume claim 'b'");
	ck_assert_int_eq(a->end.whose, FAULT_POOL);
	ck_assert(!a->slots.slot[0].failed);
}
END_TEST

/* --- many claims --- */

enum { MANY = 400 };

#define VOLUME                                                          \
	"{'metadata': {'name': 'v%d'}, 'spec': {"                       \
	"'storageClassName': 'local', 'accessModes': ['ReadWriteOnce']" \
	", 'capacity': {'storage': '2Gi'}, 'nodeAffinity': "            \
	"{'required': {'nodeSelectorTerms': [{'matchExpressions': "     \
	"[{'key': 'zone', 'operator': 'In', 'values': ['z']}]}]}}}, "   \
	"'status': {'phase': 'Available'}}"

#define NODE                                                         \
	"{'metadata': {'name': 'n0', 'labels': {'zone': '%s'}}, "    \
	"'status': {'conditions': [{'type': 'Ready', 'status': "     \
	"'True', 'lastHeartbeatTime': '%s'}], 'allocatable': {'cpu'" \
	": '8', 'memory': '8Gi', 'pods': '100'}}}"

static void node_seen(const char *zone, const char *heartbeat)
{
	char *text = xasprintf(NODE, zone, heartbeat);
	json_t *obj;

	for (char *p = text; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	obj = json_loads(text, 0, NULL);
	ck_assert_msg(obj != NULL, "%s", text);
	kube_nodes_news(st.kube->nodes, KUBE_MODIFIED, obj);
	json_decref(obj);
	free(text);
}

/* Make a claim that wants this much. */
static void claim_seen(int i, int bytes)
{
	char *text = xasprintf(
	    "{'metadata': {'name': 'c%d', 'namespace': 'n', 'uid': 'u%d'}, "
	    "'spec': {'storageClassName': 'local', 'accessModes': "
	    "['ReadWriteOnce'], 'resources': {'requests': {'storage': '%d'}}}}",
	    i, i, bytes);

	seen(SEE_CLAIMS, text);
	free(text);
}

static void all_is_listed(void)
{
	st.space.sight.synced[SEE_CLAIMS] = true;
	st.kube->sight.synced[SEE_VOLUMES] = true;
	st.kube->sight.synced[SEE_CLASSES] = true;
}

/* Make MANY volumes of one zone, and as many claims, the next one larger by
 * `more`. */
static void set_up_many(int more)
{
	node_seen("z", "2026-01-01T00:00:00Z");
	seen(SEE_VOLUMES, "{'metadata': {'name': 'v'}}");
	for (int i = 0; i < MANY; i++) {
		char *text = xasprintf(VOLUME, i);

		seen(SEE_VOLUMES, text);
		free(text);
		claim_seen(i, 1000 + i * more);
	}
	seen(SEE_CLASSES,
	     "{'metadata': {'name': 'local'}, 'volumeBindingMode': "
	     "'WaitForFirstConsumer', 'provisioner': "
	     "'kubernetes.io/no-provisioner'}");
	all_is_listed();
}

static const struct kube_seen *claim(const char *name)
{
	return map_find(&st.kube->claims.claims,
	                kube_space_key(&st.space, name));
}

static unsigned untold(void)
{
	const struct kube_seen *c;
	unsigned n = 0;
	size_t at = 0;

	while ((c = map_each(&st.kube->claims.claims, &at)))
		n += !c->told;
	return n;
}

START_TEST(equal_claims_are_compared_with_the_volumes_once)
{
	set_up_many(0);
	kube_claims_tell(st.kube);
	ck_assert_uint_eq(untold(), 0);
	ck_assert_str_eq(claim("c7")->told, "0 0 1 n0,");
	ck_assert_uint_le(st.kube->claims.reach.work, 10 * MANY);
}
END_TEST

START_TEST(different_claims_take_several_calls)
{
	unsigned calls = 0, left;

	set_up_many(1);
	for (left = MANY + 2; left; left = untold(), calls++) {
		ck_assert_uint_eq(untold(), left);
		ck_assert_uint_lt(calls, 20);
		ck_assert(!st.space.listed);
		/* a claim that changes all the time stops no other */
		claim_seen(0, 2000 + (int)calls);
		kube_claims_tell(st.kube);
		ck_assert_uint_le(st.kube->claims.reach.work,
		                  KUBE_REACH_MAX + 10 * MANY);
	}
	ck_assert_uint_gt(calls, 3);
	/* nor does it keep jobs that mount claims from starting */
	ck_assert(st.kube->claims.left > 0);
	ck_assert(st.space.listed);
}
END_TEST

START_TEST(a_report_of_a_node_without_a_change_costs_nothing)
{
	set_up_many(0);
	kube_claims_tell(st.kube);
	node_seen("z", "2026-01-01T00:00:10Z");
	kube_claims_tell(st.kube);
	ck_assert_uint_eq(st.kube->claims.reach.work, 0);
	node_seen("y", "2026-01-01T00:00:20Z");
	kube_claims_tell(st.kube);
	ck_assert_uint_gt(st.kube->claims.reach.work, 0);
}
END_TEST

START_TEST(a_claim_with_a_long_selector_is_refused)
{
	struct buf text = { 0 };

	set_up_many(0);
	buf_puts(&text, "{'metadata': {'name': 'b', 'namespace': 'n', 'uid': "
	                "'u-b'}, 'spec': {'selector': {'matchLabels': {");
	for (int i = 0; i < KUBE_CLAIM_RULES; i++)
		buf_printf(&text, "%s'l%d': 'x'", i ? ", " : "", i);
	buf_puts(&text, "}}, " ASKS "}}");
	seen(SEE_CLAIMS, text.data);
	buf_free(&text);
	kube_claims_tell(st.kube);
	ck_assert_str_eq(claim("b")->told,
	                 "1 0 1 is not bound to a volume yet: its selector and "
	                 "access modes have more than 64 entries");
}
END_TEST

SUITE(kube_claims)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_picked_volume_is_free_for_no_other_claim);
	tcase_add_test(tc, a_volume_that_a_claim_names_is_free_for_no_other);
	tcase_add_test(tc, a_claim_that_names_a_volume_in_vain_keeps_it_not);
	tcase_add_test(tc, no_claim_is_changed_if_another_gets_no_volume);
	tcase_add_test(tc, no_claim_is_changed_while_another_is_missing);
	tcase_add_test(tc, claims_of_a_job_get_different_volumes);
	tcase_add_test(tc, a_start_without_its_volume_blames_no_node);
	tcase_add_test(tc, equal_claims_are_compared_with_the_volumes_once);
	tcase_add_test(tc, different_claims_take_several_calls);
	tcase_add_test(tc, a_report_of_a_node_without_a_change_costs_nothing);
	tcase_add_test(tc, a_claim_with_a_long_selector_is_refused);
}
