/* test_wanted.c - the ResourceClaims for which pods of others ask */
#include "aischedd/run/kube/object/wanted.h"

#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const struct conf_pool pool = { .name = "gpu",
	                               .device_driver = "d",
	                               .device_class = "c" };

/* Returns the JSON of a text that has ' for ". */
static json_t *load(const char *text)
{
	char *copy = xstrdup(text);
	json_t *obj;

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	obj = json_loads(copy, 0, NULL);
	free(copy);
	ck_assert_ptr_nonnull(obj);
	return obj;
}

#define ONE     "{'name': 'r', 'exactly': {'deviceClassName': 'c'"
#define MORE    "'allocationMode': 'ExactCount', 'count': "
#define MATCHES "'constraints': [{'requests': ['r'], 'matchAttribute': "

/* devices: spec.devices of a claim; gpus: how many it asks for; -1: it cannot
 * be given GPUs, for the reason `why` */
static const struct {
	const char *name, *devices;
	int gpus;
	const char *why;
} cases[] = {
	{ "one GPU", "{'requests': [" ONE "}}]}", 1, NULL },
	{ "requests add up",
	  "{'requests': [" ONE ", " MORE "2}}, " ONE ", " MORE "3}}]}", 5,
	  NULL },
	{ "what says nothing does not count",
	  "{'requests': [" ONE ", 'selectors': [], 'adminAccess': false}}]}", 1,
	  NULL },
	{ "parameters for the driver",
	  "{'requests': [" ONE "}}], 'config': [{'opaque': {}}]}", 1, NULL },
	{ "one NUMA node",
	  "{'requests': [" ONE ", 'count': 2}}], " MATCHES
	  "'resource.kubernetes.io/numaNode'}]}",
	  2, NULL },
	{ "linked GPUs",
	  "{'requests': [" ONE ", 'count': 2}}], " MATCHES "'d/partition4'}]}",
	  2, NULL },
	{ "GPUs of one product",
	  "{'requests': [" ONE ", 'count': 2}}], " MATCHES "'d/productName'}]}",
	  2, NULL },
	{ "nothing", "{'requests': []}", -1, "it asks for no device" },
	{ "no GPU", "{'requests': [" ONE ", 'count': 0}}]}", -1,
	  "is for 0 GPUs" },
	{ "more than a node has", "{'requests': [" ONE ", 'count': 65}}]}", -1,
	  "is for 65 GPUs" },
	{ "more than a node has in all",
	  "{'requests': [" ONE ", 'count': 64}}, " ONE "}}]}", -1,
	  "more than 64 GPUs" },
	{ "a number that is none", "{'requests': [" ONE ", 'count': '1'}}]}",
	  -1, "is for 0 GPUs" },
	{ "another class",
	  "{'requests': [{'name': 'r', 'exactly': {'deviceClassName': 'x'}}]}",
	  -1, "is for class 'x': pool 'gpu' gives 'c'" },
	{ "all devices", "{'requests': [" ONE ", 'allocationMode': 'All'}}]}",
	  -1, "only ExactCount" },
	{ "a selector", "{'requests': [" ONE ", 'selectors': [{}]}}]}", -1,
	  "has selectors" },
	{ "an admin's request",
	  "{'requests': [" ONE ", 'adminAccess': true}}]}", -1,
	  "has adminAccess" },
	{ "part of a GPU",
	  "{'requests': [" ONE ", 'capacity': {'requests': {}}}}]}", -1,
	  "has capacity" },
	{ "a choice", "{'requests': [{'name': 'r', 'firstAvailable': [{}]}]}",
	  -1, "has firstAvailable" },
	{ "part of a word", "{'requests': [" ONE ", 'unt': 1}}]}", -1,
	  "has unt" },
	{ "another constraint",
	  "{'requests': [" ONE "}}], 'constraints': [{'distinctAttribute': "
	  "'a'}]}",
	  -1, "with distinctAttribute" },
	{ "another attribute",
	  "{'requests': [" ONE "}}], " MATCHES "'d/color'}]}", -1,
	  "matchAttribute 'd/color'" },
	{ "a constraint of some",
	  "{'requests': [" ONE "}}, " ONE "}}], " MATCHES "'d/partition4'}]}",
	  -1, "for some of its requests" },
	{ "what comes some day", "{'requests': [" ONE "}}], 'wishes': ['x']}",
	  -1, "has wishes" },
};

static json_t *claim_of(const char *devices)
{
	json_t *claim =
	    json_pack("{s:{s:o}}", "spec", "devices", load(devices));

	ck_assert_ptr_nonnull(claim);
	return claim;
}

START_TEST(a_claim_asks_for_GPUs)
{
	json_t *claim = claim_of(cases[_i].devices);
	struct err err = { 0 };
	int n = kube_wanted_claim(claim, &pool, &err);

	ck_assert_msg(n == cases[_i].gpus, "%s: %d, %s", cases[_i].name, n,
	              err.text);
	ck_assert_msg(n >= 0 || strstr(err.text, cases[_i].why), "%s: %s",
	              cases[_i].name, err.text);
	json_decref(claim);
}
END_TEST

/* Returns a claim for two GPUs that must be of one NUMA node, or, as a
 * template, for one; or NULL. */
static const json_t *find(const void *arg, const char *name, bool template)
{
	if (strcmp(name, "there") != 0)
		return NULL;
	return json_object_get(arg, template ? "template" : "claim");
}

START_TEST(the_claims_of_a_pod_add_up)
{
	json_t *both = json_pack(
	    "{s:o, s:{s:o}}", "claim",
	    claim_of("{'requests': [" ONE ", 'count': 2}}], " MATCHES
	             "'resource.kubernetes.io/numaNode'}]}"),
	    "template", "spec", claim_of("{'requests': [" ONE "}}]}"));
	json_t *pod =
	    load("{'resourceClaims': ["
	         "{'name': 'a', 'resourceClaimName': 'there'},"
	         "{'name': 'b', 'resourceClaimTemplateName': 'there'},"
	         "{'name': 'c', 'resourceClaimTemplateName': 'there'}"
	         "]}");
	struct kube_wanted wanted;
	struct err err = { 0 };

	ck_assert_int_eq(
	    kube_wanted_read(pod, &pool, find, both, &wanted, &err), 0);
	ck_assert_int_eq(wanted.n, 3);
	ck_assert_int_eq(wanted.shared, 2);
	ck_assert_int_eq(wanted.own, 2);
	ck_assert(wanted.numa && !wanted.links);
	json_decref(pod);

	pod = load("{'resourceClaims': [{'resourceClaimName': 'there'},"
	           " {'resourceClaimName': 'there'}]}");
	ck_assert_int_eq(
	    kube_wanted_read(pod, &pool, find, both, &wanted, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "'there' twice"));
	json_decref(pod);

	pod = load("{'resourceClaims': [{'resourceClaimName': 'gone'}]}");
	ck_assert_int_eq(
	    kube_wanted_read(pod, &pool, find, both, &wanted, &err), -1);
	ck_assert_int_eq(err.code, ENOENT);
	json_decref(pod);
	json_decref(both);
}
END_TEST

START_TEST(a_pod_names_its_claims)
{
	json_t *pod =
	    load("{'spec': {'resourceClaims': ["
	         "{'name': 'a', 'resourceClaimName': 'x'},"
	         "{'name': 'b', 'resourceClaimTemplateName': 't'},"
	         "{'name': 'c', 'resourceClaimTemplateName': 't'}]},"
	         "'status': {'resourceClaimStatuses': ["
	         "{'name': 'c'}, {'name': 'b', 'resourceClaimName': 'p-b'}]}}");
	json_t *want = load("{'names': [{'claim': 'x', 'own': false},"
	                    "{'claim': 'p-b', 'own': true},"
	                    "{'claim': null, 'own': true}]}");
	json_t *names = kube_wanted_names(pod);

	ck_assert(json_equal(names, json_object_get(want, "names")));
	json_decref(names);
	json_decref(want);
	json_decref(pod);
}
END_TEST

/* Whether two GPUs may be given to a claim for GPUs that share the attribute.
 */
static bool may_have(struct kube_gpu *a, struct kube_gpu *b,
                     const char *attribute)
{
	char *text = xasprintf("{'requests': [" ONE ", 'count': 2}}], " MATCHES
	                       "'%s'}]}",
	                       attribute);
	json_t *claim = claim_of(text);
	struct kube_given given = { .n = 2 };
	const char *differs;

	given.gpu[0].shown = a;
	given.gpu[1].shown = b;
	differs = kube_wanted_differs(claim, &pool, &given);
	ck_assert(!differs || !strcmp(differs, attribute));
	json_decref(claim);
	free(text);
	return !differs;
}

START_TEST(the_GPUs_of_a_claim_share_what_it_says)
{
	char h100[] = "h100", again[] = "h100", a100[] = "a100";
	struct kube_gpu a = { .type = h100, .numa = 1, .part = { 0, 2, -1 } };
	struct kube_gpu b = { .type = again, .numa = 1, .part = { 1, 2, -1 } };

	ck_assert(may_have(&a, &b, "d/productName"));
	ck_assert(may_have(&a, &b, "resource.kubernetes.io/numaNode"));
	ck_assert(!may_have(&a, &b, "d/partition2"));
	ck_assert(may_have(&a, &b, "partition4"));
	ck_assert(!may_have(&a, &b, "d/partition8"));
	b.type = a100;
	b.numa = 0;
	ck_assert(!may_have(&a, &b, "d/productName"));
	ck_assert(!may_have(&a, &b, "resource.kubernetes.io/numaNode"));
	a.type = b.type = NULL;
	a.numa = b.numa = -1;
	ck_assert(!may_have(&a, &b, "d/productName"));
	ck_assert(!may_have(&a, &b, "resource.kubernetes.io/numaNode"));
}
END_TEST

SUITE(kube_wanted)
{
	tcase_add_test(tc, the_GPUs_of_a_claim_share_what_it_says);
	tcase_add_loop_test(tc, a_claim_asks_for_GPUs, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, the_claims_of_a_pod_add_up);
	tcase_add_test(tc, a_pod_names_its_claims);
}
