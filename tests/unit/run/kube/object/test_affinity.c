/* test_affinity.c - the nodes that a pod requires, and those it prefers */
#include "aischedd/run/kube/object/affinity.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/object/node.h"
#include "aischedd/run/kube/object/partition.h"
#include "aischedd/run/kube/object/volume.h"
#include "libcommon/constraint.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* Parses JSON that has ' in place of ". */
static json_t *json_of(const char *text)
{
	char *copy = xstrdup(text);
	json_error_t e;
	json_t *obj;

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	obj = json_loads(copy, 0, &e);
	ck_assert_msg(obj != NULL, "%s: %s", text, e.text);
	free(copy);
	return obj;
}

#define REQUIRED "'requiredDuringSchedulingIgnoredDuringExecution'"

/* Returns a pod with required node affinity of these terms. */
static json_t *pod_with(const char *terms)
{
	struct buf text = { 0 };
	json_t *obj;

	buf_printf(&text,
	           "{'affinity': {'nodeAffinity': {" REQUIRED
	           ": {'nodeSelectorTerms': %s}}}}",
	           terms);
	obj = json_of(text.data);
	buf_free(&text);
	return obj;
}

static const struct {
	const char *pod, *own, *constraint;
} cases[] = {
	{ "{}", NULL, "" },
	{ "{}", "a|b", "(a|b)" },
	{ "{'nodeSelector': {'disk': 'ssd'}}", "a|b", "(a|b)&disk=ssd" },
	{ "{'nodeSelector': {'disk': 'ssd'}}", "(a|b)&c", "(a|b)&c&disk=ssd" },
	/* Counts cannot be put in parentheses. */
	{ "{'nodeSelector': {'disk': 'ssd'}}", "rack1*2&rack2*4",
	  "rack1*2&rack2*4&disk=ssd" },
	{ "{'nodeSelector': {'disk': 'ssd'}}", "ib&[a*1&b*1]",
	  "ib&[a*1&b*1]&disk=ssd" },
	/* A label that must have an empty value, not any value. */
	{ "{'nodeSelector': {'node-role.kubernetes.io/gpu': ''}}", NULL,
	  "node-role.kubernetes.io/gpu=" },
	{ "{'tolerations': [{'key': 'k', 'value': 'v',"
	  " 'effect': 'NoSchedule'}]}",
	  NULL, "(k=v|!k=v)" },
	{ "{'tolerations': [{'key': 'k', 'operator': 'Exists',"
	  " 'effect': 'NoExecute', 'tolerationSeconds': 3600}]}",
	  NULL, "(k:NoExecute|!k:NoExecute)" },
	{ "{'tolerations': [{'key': 'k', 'operator': 'Equal'}]}", "a",
	  "a&(k=|!k=)&(k:NoExecute=|!k:NoExecute=)&"
	  "(k:PreferNoSchedule=|!k:PreferNoSchedule=)" },
	{ "{'tolerations': [{'key': 'k', 'operator': 'Exists',"
	  " 'effect': 'PreferNoSchedule'},"
	  " {'key': 'node.kubernetes.io/not-ready', 'operator': 'Exists'}]}",
	  NULL, "(k:PreferNoSchedule|!k:PreferNoSchedule)" },
};

START_TEST(a_pod_says_which_nodes)
{
	json_t *pod = json_of(cases[_i].pod);
	struct buf text = { 0 };
	struct err err;

	ck_assert_msg(
	    !kube_affinity_constraint(pod, cases[_i].own, &text, &err), "%s",
	    err.text);
	ck_assert_str_eq(text.data ? text.data : "", cases[_i].constraint);
	buf_free(&text);
	json_decref(pod);
}
END_TEST

/* Returns a pod with preferred node affinity of these terms. */
static json_t *pod_that_prefers(const char *list)
{
	struct buf text = { 0 };
	json_t *obj;

	buf_printf(&text,
	           "{'affinity': {'nodeAffinity': {"
	           "'preferredDuringSchedulingIgnoredDuringExecution': %s}}}",
	           list);
	obj = json_of(text.data);
	buf_free(&text);
	return obj;
}

#define IN(key, values) \
	"{'key': '" key "', 'operator': 'In', 'values': " values "}"
#define NOT_IN(key, values) \
	"{'key': '" key "', 'operator': 'NotIn', 'values': " values "}"
#define OP(key, op) "{'key': '" key "', 'operator': '" op "'}"
#define BOUND(key, op, n) \
	"{'key': '" key "', 'operator': '" op "', 'values': ['" n "']}"
#define TERM(list) "{'matchExpressions': [" list "]}"

static const struct {
	const char *terms, *constraint;
} terms[] = {
	{ "[" TERM(IN("zone", "['a']")) "]", "(zone=a)" },
	{ "[" TERM(IN("zone", "['a', 'b']")) "]", "((zone=a|zone=b))" },
	{ "[" TERM(NOT_IN("zone", "['a', 'b']")) "]", "(!(zone=a|zone=b))" },
	{ "[" TERM(IN("zone", "['']")) "]", "(zone=)" },
	{ "[" TERM(OP("gpu", "Exists") ", " OP("zone", "DoesNotExist")) "]",
	  "(gpu&!zone)" },
	{ "[" TERM(OP("gpu", "DoesNotExist")) "]", "(!gpu)" },
	{ "[" TERM(BOUND("cores", "Gt", "16")) "]", "(cores>16)" },
	{ "[" TERM(BOUND("cores", "Lt", "-3")) "]", "(cores<-3)" },
	{ "[" TERM(BOUND("cores", "Gt", "8") ", " NOT_IN(
	      "zone",
	      "['c']")) ", " TERM(IN("zone",
	                             "['a', 'b']") ", " OP("gpu",
	                                                   "DoesNotExist")) "]",
	  "(cores>8&!zone=c|(zone=a|zone=b)&!gpu)" },
	/* An empty term matches no node; the others count. */
	{ "[{}, " TERM(IN("zone", "['b']")) "]", "(zone=b)" },
};

/* The nodes, each as a list of features. */
static const char *const nodes[] = {
	"[]",
	"['zone=a', 'gpu']",
	"['zone=b', 'gpu=true', 'cores=8']",
	"['zone=c', 'cores=16']",
	"['zone', 'cores=17']",
	"['zones=a', 'cores=many']",
	"['zone=a', 'cores=-4']",
};

struct asked {
	char *word[64];
	int32_t n;
	const json_t *features;
};

static int32_t number(const char *word, size_t len, void *arg)
{
	struct asked *a = arg;

	a->word[a->n] = xcalloc(1, len + 1);
	memcpy(a->word[a->n], word, len);
	return a->n++;
}

static bool has(int32_t word, const void *arg)
{
	const struct asked *a = arg;
	const json_t *feature;
	size_t i;

	json_array_foreach(a->features, i, feature)
		if (constraint_word_holds(a->word[word],
		                          json_string_value(feature)))
			return true;
	return false;
}

static bool constraint_allows(const char *text, const json_t *features)
{
	struct asked a = { .features = features };
	int32_t rule[256];
	bool holds;
	struct err err;
	size_t n;

	ck_assert_msg(!constraint_parse(text, number, &a, rule, 256, &n, &err),
	              "%s", err.text);
	holds = constraint_holds(rule, n, has, &a);
	while (a.n--)
		free(a.word[a.n]);
	return holds;
}

/* The constraint allows the same nodes as a volume with the same node affinity,
 * which other code evaluates. */
START_TEST(an_affinity_allows_the_same_nodes)
{
	json_t *pod = pod_with(terms[_i].terms);
	json_t *list = json_of(terms[_i].terms);
	json_t *selector = json_pack("{s:o}", "nodeSelectorTerms", list);
	struct buf text = { 0 };
	struct err err;

	ck_assert_msg(!kube_affinity_constraint(pod, NULL, &text, &err), "%s",
	              err.text);
	ck_assert_str_eq(text.data, terms[_i].constraint);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		json_t *node = json_of(nodes[i]);

		ck_assert_msg(constraint_allows(text.data, node) ==
		                  kube_selector_matches(selector, "n", node),
		              "%s on %s", text.data, nodes[i]);
		json_decref(node);
	}
	buf_free(&text);
	json_decref(selector);
	json_decref(pod);
}
END_TEST

static const struct {
	const char *terms, *why;
} refused[] = {
	{ "[]", "none of its nodeSelectorTerms" },
	{ "[{}]", "none of its nodeSelectorTerms" },
	{ "[{'matchFields': [" IN("metadata.name", "['n1']") "]}]",
	  "matchFields is not supported" },
	{ "[" TERM(OP("a", "Near")) "]", "operator 'Near'" },
	{ "[" TERM(BOUND("a", "Gt", "many")) "]", "'a' is compared" },
	{ "[" TERM(OP("a", "Lt")) "]", "'a' is compared" },
	{ "[" TERM(OP("a", "In")) "]", "no values of 'a'" },
	{ "[" TERM(OP("", "Exists")) "]", "a key is missing" },
	{ "[" TERM(IN("a", "['x|y']")) "]", "'x|y'" },
	{ "[" TERM(OP("a)|(b", "Exists")) "]", "'a)|(b'" },
};

START_TEST(what_a_constraint_cannot_say_is_refused)
{
	json_t *pod = pod_with(refused[_i].terms);
	struct buf text = { 0 };
	struct err err;

	ck_assert_int_lt(kube_affinity_constraint(pod, NULL, &text, &err), 0);
	ck_assert_msg(strstr(err.text, refused[_i].why) != NULL, "%s",
	              err.text);
	buf_free(&text);
	json_decref(pod);
}
END_TEST

static const struct {
	const char *pod, *own, *why;
} bad[] = {
	{ "{}", "a)&(b", "bad constraint 'a)&(b'" },
	{ "{'nodeSelector': {'a': 'x y'}}", NULL, "nodeSelector: 'x y'" },
	{ "{'tolerations': [{'operator': 'Exists'}]}", NULL,
	  "tolerations: one is of every taint" },
	{ "{'tolerations': [{'key': 'a', 'operator': 'Gt', 'value': '1'}]}",
	  NULL, "operator 'Gt'" },
	{ "{'tolerations': [{'key': 'a&b', 'operator': 'Exists'}]}", NULL,
	  "'a&b'" },
};

START_TEST(bad_words_are_refused)
{
	json_t *pod = json_of(bad[_i].pod);
	struct buf text = { 0 };
	struct err err;

	ck_assert_int_lt(
	    kube_affinity_constraint(pod, bad[_i].own, &text, &err), 0);
	ck_assert_msg(strstr(err.text, bad[_i].why) != NULL, "%s", err.text);
	buf_free(&text);
	json_decref(pod);
}
END_TEST

#define HAS(key)           TERM(OP(key, "Exists"))
#define LACKS(key)         TERM(OP(key, "DoesNotExist"))
#define WISH(weight, term) "{'weight': " weight ", 'preference': " term "}"

static const struct {
	const char *list, *own, *prefer;
} preferred[] = {
	{ "[]", NULL, "" },
	{ "[]", "a|b", "a|b" },
	{ "[" WISH("1", HAS("a")) "]", "", "a" },
	{ "[" WISH("1", HAS("a")) "]", NULL, "a" },
	/* Preferences are sorted by weight, those of equal weight stay in their
	 * order; those of the annotation come first. */
	{ "[" WISH("1", HAS("a")) ", " WISH(
	      "50", TERM(IN("z", "['x', 'y']"))) ", " WISH("1", LACKS("b")) "]",
	  "c", "c,(z=x|z=y),a,!b" },
	/* An empty preference is ignored. */
	{ "[" WISH("9", "{}") "," WISH(
	      "1", TERM(BOUND("n", "Gt", "3") "," OP("a", "Exists"))) "]",
	  NULL, "n>3&a" },
	/* Not more preferences than --prefer accepts: those with the least
	 * weight are left out. */
	{ "[" WISH("1", HAS("a")) ", " WISH("3", HAS("b")) ", " WISH(
	      "2", HAS("c")) "]",
	  "1,2,3,4,5,6", "1,2,3,4,5,6,b,c" },
	{ "[" WISH("1", HAS("a")) "]", "1,2,3,4,5,6,7,8", "1,2,3,4,5,6,7,8" },
};

START_TEST(a_pod_prefers_nodes)
{
	json_t *pod = pod_that_prefers(preferred[_i].list);
	struct buf text = { 0 };
	struct err err;

	ck_assert_msg(
	    !kube_affinity_prefer(pod, preferred[_i].own, &text, &err), "%s",
	    err.text);
	ck_assert_str_eq(text.data ? text.data : "", preferred[_i].prefer);
	buf_free(&text);
	json_decref(pod);
}
END_TEST

START_TEST(a_wish_for_a_field_is_refused)
{
	json_t *pod = pod_that_prefers("[" WISH(
	    "1", "{'matchFields': [" IN("metadata.name", "['n']") "]}") "]");
	struct buf text = { 0 };
	struct err err;

	ck_assert_int_lt(kube_affinity_prefer(pod, NULL, &text, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "matchFields is not supported"));
	buf_free(&text);
	json_decref(pod);
}
END_TEST

/* A toleration of one effect does not allow a node whose taint has the other
 * effect. */
START_TEST(taints_of_each_effect_have_words_of_their_own)
{
	static const struct conf_pool pool = { .gpu_resource = "g" };
	static const struct strlist none;
	json_t *node =
	    json_of("{'spec': {'taints': ["
	            " {'key': 'k', 'value': 'v', 'effect': 'NoSchedule'},"
	            " {'key': 'k', 'value': 'v', 'effect': 'NoExecute'},"
	            " {'key': 'e', 'effect': 'NoExecute'},"
	            " {'key': 'p', 'effect': 'PreferNoSchedule'}]}}");
	json_t *want = json_of("['k=v', 'k:NoExecute=v', 'e:NoExecute',"
	                       " 'p:PreferNoSchedule']");
	struct kube_node_said said;

	kube_node_read(node, &pool, &none, &said);
	ck_assert(json_equal(said.taints, want));
	ck_assert(!constraint_word_holds("k", "k:NoExecute=v"));
	ck_assert(constraint_word_holds("k:NoExecute", "k:NoExecute=v"));
	kube_node_said_fini(&said);
	json_decref(want);
	json_decref(node);
}
END_TEST

START_TEST(a_node_says_its_gpu_memory)
{
	static const struct conf_pool pool = { .gpu_resource = "g" };
	static const struct strlist none;
	static const struct {
		const char *label;
		int64_t mib;
	} is[] = { { "81559", 81559 },
		   { "much", 0 },
		   { "0", 0 },
		   { "99999999999", 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(is); i++) {
		json_t *node = json_pack("{s:{s:{s:s}}}", "metadata", "labels",
		                         "nvidia.com/gpu.memory", is[i].label);
		struct kube_node_said said;

		kube_node_read(node, &pool, &none, &said);
		ck_assert_int_eq(said.gpu_mem_mib, is[i].mib);
		kube_node_said_fini(&said);
		json_decref(node);
	}
}
END_TEST

START_TEST(gpus_that_pods_share_are_none)
{
	static const struct conf_pool pool = { .gpu_resource = "g" };
	static const struct strlist none;
	static const struct {
		const char *label;
		int64_t replicas, gpus;
	} is[] = { { "4", 4, 0 }, { "1", 1, 8 }, { "0", 1, 8 }, { "x", 1, 8 } };

	for (size_t i = 0; i < ARRAY_SIZE(is); i++) {
		json_t *node =
		    json_pack("{s:{s:{s:s}},s:{s:{s:s}}}", "metadata", "labels",
		              KUBE_LABEL_REPLICAS, is[i].label, "status",
		              "allocatable", "g", "8");
		struct kube_node_said said;

		kube_node_read(node, &pool, &none, &said);
		ck_assert_int_eq(said.replicas, is[i].replicas);
		ck_assert_int_eq(said.have.gpus, is[i].gpus);
		kube_node_said_fini(&said);
		json_decref(node);
	}
}
END_TEST

START_TEST(partitions_that_pods_share_are_none)
{
	static const struct conf_pool pool = { .gpu_resource = "g" };
	static const struct strlist none;
	static const struct {
		const char *label, *resource, *shared;
		int parts;
	} is[] = {
		{ "nvidia.com/mig-1g.10gb.replicas", "nvidia.com/mig-1g.10gb",
		  "nvidia.com/mig-1g.10gb", 0 },
		{ "nvidia.com/mig-2g.20gb.replicas", "nvidia.com/mig-1g.10gb",
		  NULL, 8 },
		{ "x", "nvidia.com/mig-1g.10gb.shared",
		  "nvidia.com/mig-1g.10gb.shared", 0 },
		{ "x", "nvidia.com/mig-9g.99gb.shared",
		  "nvidia.com/mig-9g.99gb.shared", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(is); i++) {
		json_t *node =
		    json_pack("{s:{s:{s:s}},s:{s:{s:s}}}", "metadata", "labels",
		              is[i].label, "4", "status", "allocatable",
		              is[i].resource, "8");
		struct kube_node_said said;

		kube_node_read(node, &pool, &none, &said);
		ck_assert_pstr_eq(said.part_shared, is[i].shared);
		ck_assert_pstr_eq(said.part_unknown, NULL);
		ck_assert_int_eq(said.have.parts[mig_find("1g.10gb")],
		                 is[i].parts);
		kube_node_said_fini(&said);
		json_decref(node);
	}
}
END_TEST

SUITE(kube_affinity)
{
	tcase_add_test(tc, partitions_that_pods_share_are_none);
	tcase_add_test(tc, gpus_that_pods_share_are_none);
	tcase_add_test(tc, a_node_says_its_gpu_memory);
	tcase_add_loop_test(tc, a_pod_says_which_nodes, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(tc, an_affinity_allows_the_same_nodes, 0,
	                    ARRAY_SIZE(terms));
	tcase_add_loop_test(tc, what_a_constraint_cannot_say_is_refused, 0,
	                    ARRAY_SIZE(refused));
	tcase_add_loop_test(tc, a_pod_prefers_nodes, 0, ARRAY_SIZE(preferred));
	tcase_add_test(tc, a_wish_for_a_field_is_refused);
	tcase_add_test(tc, taints_of_each_effect_have_words_of_their_own);
	tcase_add_loop_test(tc, bad_words_are_refused, 0, ARRAY_SIZE(bad));
}
