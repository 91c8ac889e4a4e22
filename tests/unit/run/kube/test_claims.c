/* test_claims.c - two claims that compete for one free volume */
#include "aischedd/run/kube/claim/claims.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/claim/spare.h"
#include "aischedd/run/kube/make.h"
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

SUITE(kube_claims)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_picked_volume_is_free_for_no_other_claim);
	tcase_add_test(tc, a_volume_that_a_claim_names_is_free_for_no_other);
	tcase_add_test(tc, a_start_without_its_volume_blames_no_node);
}
