/* test_zones.c - NodeResourceTopologies, valid and invalid ones */
#include "aischedd/run/kube/object/zones.h"

#include <stdio.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

static struct conf_pool pool = { .gpu_resource = "example.com/gpu" };

/* Read an object; its text has ' in place of ". */
static struct kube_zones read(const char *text)
{
	struct kube_zones ret;
	struct buf json = { 0 };
	json_t *obj;

	for (const char *c = text; *c; c++)
		buf_printf(&json, "%c", *c == '\'' ? '"' : *c);
	obj = json_loads(json.data, 0, NULL);
	ck_assert_msg(obj, "%s", json.data);
	kube_zones_read(obj, &pool, &ret);
	json_decref(obj);
	buf_free(&json);
	return ret;
}

/* Append a zone of type Node with one resource. */
static void put_zone(struct buf *out, const char *name, const char *resource,
                     const char *amount)
{
	buf_printf(out,
	           "%s{'name': '%s', 'type': 'Node', 'resources': [{'name': "
	           "'%s', 'capacity': '1', 'allocatable': '%s', 'available': "
	           "'1'}]}",
	           out->len ? ", " : "", name, resource, amount);
}

/* Check what is wrong with an object that has these zones. */
static void expect_wrong(const struct buf *zones, const char *want)
{
	struct buf text = { 0 };
	struct kube_zones z;

	buf_printf(&text, "{'zones': [%s]}", zones->data);
	z = read(text.data);
	ck_assert_msg(z.wrong && strstr(z.wrong, want), "'%s' is not in '%s'",
	              want, z.wrong ? z.wrong : "");
	ck_assert_uint_eq(z.n, 0);
	kube_zones_fini(&z);
	buf_free(&text);
}

START_TEST(two_numa_nodes)
{
	struct kube_zones z =
	    read("{'attributes': [{'name': 'topologyManagerScope', 'value': "
	         "'pod'}, {'name': 'topologyManagerPolicy', 'value': "
	         "'single-numa-node'}], 'zones': ["
	         "{'name': 'node-8', 'type': 'Node', 'resources': ["
	         "{'name': 'cpu', 'allocatable': '3900m'},"
	         "{'name': 'memory', 'allocatable': '2Gi'}]},"
	         "{'name': 'core-0', 'type': 'Core'},"
	         "{'name': 'node-0', 'type': 'Node', 'resources': ["
	         "{'name': 'cpu', 'allocatable': 4, 'available': '2500m'},"
	         "{'name': 'example.com/gpu', 'allocatable': '2', "
	         "'available': '1'},"
	         "{'name': 'other', 'allocatable': '-2'}]}]}");

	ck_assert_ptr_null(z.wrong);
	ck_assert_int_eq(z.policy, NODE_POLICY_SINGLE);
	ck_assert_uint_eq(z.n, 2);
	ck_assert_int_eq(z.zone[0].number, 0);
	ck_assert_int_eq(z.zone[0].all.cpus, 4);
	ck_assert_int_eq(z.zone[0].all.gpus, 2);
	ck_assert_int_eq(z.zone[0].free_cpus, 2);
	ck_assert_int_eq(z.zone[0].free_gpus, 1);
	ck_assert_int_eq(z.zone[1].number, 8);
	ck_assert_int_eq(z.zone[1].all.cpus, 3);
	ck_assert_int_eq(z.zone[1].all.mem_mib, 2048);
	kube_zones_fini(&z);
}
END_TEST

static const struct {
	const char *text;
	enum node_policy policy;
} policy_cases[] = {
	{ "{}", NODE_POLICY_UNKNOWN },
	{ "{'topologyPolicies': ['SingleNUMANodePodLevel']}",
	  NODE_POLICY_SINGLE },
	{ "{'topologyPolicies': ['RestrictedContainerLevel']}",
	  NODE_POLICY_RESTRICTED },
	{ "{'topologyPolicies': ['None'], 'attributes': [{'name': "
	  "'topologyManagerPolicy', 'value': 'best-effort'}]}",
	  NODE_POLICY_BEST_EFFORT },
	{ "{'attributes': [{'name': 'topologyManagerPolicy', 'value': "
	  "'none'}]}",
	  NODE_POLICY_NONE },
	{ "{'attributes': [{'name': 'topologyManagerPolicy', 'value': "
	  "'single-numa-nodes'}]}",
	  NODE_POLICY_UNKNOWN },
	{ "{'attributes': [{'name': 'topologyManagerPolicy', 'value': 7}], "
	  "'topologyPolicies': [7], 'zones': {}}",
	  NODE_POLICY_UNKNOWN },
};

START_TEST(policy_case)
{
	struct kube_zones z = read(policy_cases[_i].text);

	ck_assert_int_eq(z.policy, policy_cases[_i].policy);
	ck_assert_ptr_null(z.wrong);
	kube_zones_fini(&z);
}
END_TEST

static const struct {
	const char *name, *resource, *amount, *want;
} lie_cases[] = {
	{ "node-1", "cpu", "-1", "zone 'node-1' has no possible amount of" },
	{ "node-1", "cpu", "65536", "'cpu'" },
	{ "node-1", "cpu", "many", "'cpu'" },
	{ "node-1", "memory", "-1Gi", "'memory'" },
	{ "node-1", "memory", "8Ei", "'memory'" },
	{ "node-1", "example.com/gpu", "65", "'example.com/gpu'" },
	{ "node-1", "example.com/gpu", "1e30", "'example.com/gpu'" },
	{ "node", "cpu", "1", "zone 'node' has no number of a NUMA node" },
	{ "node--1", "cpu", "1", NULL },
	{ "node-4096", "cpu", "1", "no number" },
	{ "node-", "cpu", "1", "no number" },
	{ "node-x", "cpu", "1", "no number" },
};

START_TEST(lie_case)
{
	struct buf zones = { 0 };

	put_zone(&zones, "node-0", "cpu", "1");
	put_zone(&zones, lie_cases[_i].name, lie_cases[_i].resource,
	         lie_cases[_i].amount);
	if (lie_cases[_i].want)
		expect_wrong(&zones, lie_cases[_i].want);
	buf_free(&zones);
}
END_TEST

/* Check an object that has n zones of this type. */
static void expect_many(int n, const char *type, const char *want)
{
	struct buf text = { 0 };
	struct kube_zones z;

	buf_puts(&text, "{'zones': [");
	for (int i = 0; i < n; i++)
		buf_printf(&text, "%s{'name': 'node-%d', 'type': '%s'}",
		           i ? "," : "", i, type);
	buf_puts(&text, "]}");
	z = read(text.data);
	if (want)
		ck_assert_str_eq(z.wrong, want);
	else
		ck_assert_ptr_null(z.wrong);
	kube_zones_fini(&z);
	buf_free(&text);
}

START_TEST(too_many_zones_are_refused)
{
	struct buf zones = { 0 };

	expect_many(32, "Node", NULL);
	expect_many(33, "Node", "it has more than 32 zones");
	expect_many(1000, "Node", "it has more than 32 zones");
	expect_many(1000, "Core", NULL);
	expect_many(100000, "Core", "it has more than 32 zones");
	put_zone(&zones, "node-0", "cpu", "40000");
	put_zone(&zones, "node-0", "cpu", "1");
	expect_wrong(&zones, "it has zone 0 twice");
	buf_clear(&zones);
	put_zone(&zones, "node-0", "cpu", "40000");
	put_zone(&zones, "node-1", "cpu", "40000");
	expect_wrong(&zones, "its zones have more than 65535 CPUs");
	buf_free(&zones);
}
END_TEST

START_TEST(a_long_name_is_cut)
{
	struct buf zones = { 0 };
	char name[1000];
	struct kube_zones z;
	struct buf text = { 0 };

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	put_zone(&zones, name, "cpu", "1");
	buf_printf(&text, "{'zones': [%s]}", zones.data);
	z = read(text.data);
	ck_assert_uint_lt(strlen(z.wrong), 200);
	kube_zones_fini(&z);
	buf_free(&text);
	buf_free(&zones);
}
END_TEST

START_TEST(more_is_available_than_there_is)
{
	struct kube_zones z =
	    read("{'zones': [{'name': 'node-0', 'type': 'Node', 'resources': "
	         "[{'name': 'cpu', 'allocatable': '4', 'available': '5'}]}]}");

	ck_assert_str_eq(z.wrong,
	                 "zone 'node-0' has no possible amount of 'cpu'");
	kube_zones_fini(&z);
}
END_TEST

START_TEST(only_changes_count)
{
	static const char text[] =
	    "{'zones': [{'name': 'node-0', 'type': 'Node', 'resources': "
	    "[{'name': 'cpu', 'allocatable': '4', 'available': '%d'}]}]}";
	char a[256], b[256];
	struct kube_zones x, y, other;

	snprintf(a, sizeof(a), text, 1);
	snprintf(b, sizeof(b), text, 2);
	x = read(a);
	y = read(a);
	other = read(b);
	ck_assert(kube_zones_same(&x, &y) && !kube_zones_same(&x, &other));
	kube_zones_fini(&x);
	kube_zones_fini(&y);
	kube_zones_fini(&other);
}
END_TEST

SUITE(kube_zones)
{
	tcase_add_test(tc, two_numa_nodes);
	tcase_add_loop_test(tc, policy_case, 0, ARRAY_SIZE(policy_cases));
	tcase_add_loop_test(tc, lie_case, 0, ARRAY_SIZE(lie_cases));
	tcase_add_test(tc, too_many_zones_are_refused);
	tcase_add_test(tc, a_long_name_is_cut);
	tcase_add_test(tc, more_is_available_than_there_is);
	tcase_add_test(tc, only_changes_count);
}
