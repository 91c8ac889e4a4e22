/* test_peers.c - affinity between the pods of Jobs, as --near and --apart */
#include "aischedd/run/kube/object/peers.h"

#include <jansson.h>
#include <string.h>

#include "tests/unit/check.h"

#define MUST "'requiredDuringSchedulingIgnoredDuringExecution'"
#define SELECT(key, value) \
	"'labelSelector': {'matchLabels': {'" key "': '" value "'}}"
#define EXPRESSION(e) "'labelSelector': {'matchExpressions': [{" e "}]}"
#define NODE          "'topologyKey': 'kubernetes.io/hostname'"
#define ZONE          "'topologyKey': 'topology.kubernetes.io/zone'"
#define NEAR(terms)   "'podAffinity': {" MUST ": [" terms "]}"
#define APART(terms)  "'podAntiAffinity': {" MUST ": [" terms "]}"

/* The pods of three Jobs. That of job 9 keeps apart from pods with role=db. */
static const struct {
	uint64_t job;
	const char *labels, *apart;
} peers[] = {
	{ 7, "{'app': 'web', 'job-name': 'front'}", NULL },
	{ 8, "{'app': 'web', 'job-name': 'back'}", NULL },
	{ 9, "{'app': 'store'}", "[{" SELECT("role", "db") ", " NODE "}]" },
};

/* labels: those of the Job's pods. tasks: number of pods. want: near, apart,
 * nodes, tasks on a node and topology; or the error. */
static const struct {
	const char *name, *affinity, *labels;
	int64_t tasks;
	const char *want;
} peers_case[] = {
	{ "no affinity", "", "", 1, "- - - - -" },
	{ "near one Job", NEAR("{" SELECT("job-name", "back") ", " NODE "}"),
	  "", 2, "8:node - - - -" },
	{ "near several", NEAR("{" SELECT("app", "web") ", " ZONE "}"), "", 1,
	  "7,8:zone - - - -" },
	{ "apart from several", APART("{" SELECT("app", "web") ", " NODE "}"),
	  "", 1, "- 7,8:node - - -" },
	{ "both",
	  NEAR("{" SELECT("app", "store") ", " ZONE "}") ", " APART(
	      "{" SELECT("app", "web") ", " NODE "}"),
	  "", 1, "9:zone 7,8:node - - -" },
	{ "apart by two terms",
	  APART("{" SELECT("job-name", "front") ", " NODE "}, {" SELECT(
	      "app", "store") ", " NODE "}"),
	  "", 1, "- 7,9:node - - -" },
	{ "two terms for one Job count once",
	  APART("{" SELECT("job-name", "front") ", " NODE "}, {" SELECT(
	      "app", "web") ", " NODE "}"),
	  "", 1, "- 7,8:node - - -" },
	{ "apart from a Job that asks for it", "", "'role': 'db'", 1,
	  "- 9:node - - -" },
	{ "apart from nobody", APART("{" SELECT("app", "x") ", " NODE "}"), "",
	  1, "- - - - -" },
	{ "values",
	  NEAR("{" EXPRESSION("'key': 'app', 'operator': 'In',"
	                      " 'values': ['x', 'store']") ", " NODE "}"),
	  "", 1, "9:node - - - -" },
	{ "other values",
	  NEAR("{" EXPRESSION("'key': 'app', 'operator': 'NotIn',"
	                      " 'values': ['web']") ", " NODE "}"),
	  "", 1, "9:node - - - -" },
	{ "a label that is there",
	  NEAR("{" EXPRESSION(
	      "'key': 'job-name', 'operator': 'Exists'") ", " NODE "}"),
	  "", 1, "7,8:node - - - -" },
	{ "a label that is not there",
	  NEAR("{" EXPRESSION(
	      "'key': 'job-name', 'operator': 'DoesNotExist'") ", " NODE "}"),
	  "", 1, "9:node - - - -" },
	{ "no selector selects nothing", APART("{" NODE "}"), "", 1,
	  "- - - - -" },
	{ "an empty one selects all", APART("{'labelSelector': {}, " NODE "}"),
	  "", 1, "- 7,8,9:node - - -" },
	{ "its own pods on one node", NEAR("{" SELECT("a", "b") ", " NODE "}"),
	  "'a': 'b'", 3, "- - 1 - -" },
	{ "its own pods in one zone", NEAR("{" SELECT("a", "b") ", " ZONE "}"),
	  "'a': 'b'", 3, "- - - - zone" },
	{ "its own pod", NEAR("{" SELECT("a", "b") ", " ZONE "}"), "'a': 'b'",
	  1, "- - - - -" },
	{ "its own pods apart", APART("{" SELECT("a", "b") ", " NODE "}"),
	  "'a': 'b'", 3, "- - - 1 -" },
	{ "its own pods in different zones",
	  APART("{" SELECT("a", "b") ", " ZONE "}"), "'a': 'b'", 3,
	  "podAntiAffinity: it keeps pods of this Job in different domains: "
	  "use aisched.io/spread" },
	{ "near nobody", NEAR("{" SELECT("a", "b") ", " NODE "}"), "", 1,
	  "podAffinity: its labelSelector matches pods of no Job that waits "
	  "or runs in the queue" },
	{ "two terms",
	  NEAR("{" SELECT("app", "web") ", " NODE "}, {" SELECT(
	      "app", "store") ", " NODE "}"),
	  "", 1, "podAffinity: only one required term is supported" },
	{ "two levels",
	  APART("{" SELECT("app", "web") ", " NODE "}, {" SELECT(
	      "app", "store") ", " ZONE "}"),
	  "", 1,
	  "podAntiAffinity: terms of several topologyKeys are not supported: "
	  "use one" },
	{ "another key",
	  APART("{" SELECT("app", "web") ", 'topologyKey': 'x/rack'}"), "", 1,
	  "podAntiAffinity: topologyKey 'x/rack' is the label of no level of "
	  "the topology" },
	{ "other namespaces",
	  NEAR("{" SELECT("app", "web") ", " NODE ", 'namespaces': ['x']}"), "",
	  1, "podAffinity: namespaces is not supported: leave it out" },
	{ "any namespace",
	  NEAR("{" SELECT("app", "web") ", " NODE ", 'namespaceSelector': {}}"),
	  "", 1,
	  "podAffinity: namespaceSelector is not supported: leave it "
	  "out" },
	{ "keys of labels",
	  APART("{" SELECT("app", "web") ", " NODE
	                                 ", 'matchLabelKeys': ['app']}"),
	  "", 1,
	  "podAntiAffinity: matchLabelKeys is not supported: leave it "
	  "out" },
};

static const char *const names[] = { "zone" };
static const char *const keys[] = { "zone" };
static const struct conf_topology topology = { .levels = { 1, names },
	                                       .keys = { 1, keys } };

static json_t *parse(const char *text)
{
	json_t *obj;
	char *copy = xstrdup(text);

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	obj = json_loads(copy, 0, NULL);
	ck_assert_msg(obj != NULL, "%s", copy);
	free(copy);
	return obj;
}

static json_t *job_of(int i)
{
	struct buf text = { 0 };
	json_t *obj;

	buf_printf(&text,
	           "{'spec': {'template': {'metadata': {'labels': {%s}},"
	           " 'spec': {'affinity': {%s}}}}}",
	           peers_case[i].labels, peers_case[i].affinity);
	obj = parse(text.data);
	buf_free(&text);
	return obj;
}

static void put(struct buf *out, const char *text, int64_t number)
{
	buf_puts(out, out->len ? " " : "");
	if (text)
		buf_puts(out, text);
	else if (number != SPEC_UNSET)
		buf_i64(out, number);
	else
		buf_puts(out, "-");
}

START_TEST(affinity_becomes_options)
{
	struct kube_peer peer[ARRAY_SIZE(peers)];
	struct arena *arena = arena_new();
	json_t *obj = job_of(_i);
	struct buf got = { 0 };
	struct err err = { 0 };
	struct spec spec;

	for (size_t i = 0; i < ARRAY_SIZE(peers); i++)
		peer[i] =
		    (struct kube_peer){ peers[i].job, parse(peers[i].labels),
			                peers[i].apart ? parse(peers[i].apart)
			                               : NULL };
	spec_init(&spec);
	spec.tasks = peers_case[_i].tasks;
	spec.tmp = spec_tmp_of_node(&spec, 100);
	if (kube_peers_read(obj, &topology, peer, ARRAY_SIZE(peers), arena,
	                    &spec, &err) < 0) {
		buf_puts(&got, err.text);
	} else {
		put(&got, spec.near, SPEC_UNSET);
		put(&got, spec.apart, SPEC_UNSET);
		put(&got, NULL, spec.nodes);
		put(&got, NULL, spec.tasks_per_node);
		put(&got, spec.topology, SPEC_UNSET);
		ck_assert_int_eq(spec.tmp, spec_tmp_of_node(&spec, 100));
	}
	ck_assert_msg(!strcmp(got.data, peers_case[_i].want), "%s: %s",
	              peers_case[_i].name, got.data);
	for (size_t i = 0; i < ARRAY_SIZE(peers); i++) {
		json_decref((json_t *)peer[i].labels);
		json_decref((json_t *)peer[i].apart);
	}
	buf_free(&got);
	json_decref(obj);
	arena_free(arena);
}
END_TEST

/* count: how often a term, or a value of its only term, is repeated. */
static const struct {
	const char *before, *repeated, *after;
	int count;
	const char *want;
} sizes_case[] = {
	{ "", "{" SELECT("app", "x") ", " NODE "}", "", 64, "" },
	{ "", "{" SELECT("app", "x") ", " NODE "}", "", 65,
	  "podAntiAffinity: more than 64 terms are not supported" },
	{ "{'labelSelector': {'matchExpressions': [{'key': 'app',"
	  " 'operator': 'In', 'values': [",
	  "'x'", "]}]}, " NODE "}", 63, "" },
	{ "{'labelSelector': {'matchExpressions': [{'key': 'app',"
	  " 'operator': 'In', 'values': [",
	  "'x'", "]}]}, " NODE "}", 64,
	  "podAntiAffinity: a labelSelector of more than 64 labels, "
	  "expressions and values is not supported" },
	{ "{'labelSelector': {'matchExpressions': [",
	  "{'key': 'x', 'operator': 'Exists'}", "]}, " NODE "}", 65,
	  "podAntiAffinity: a labelSelector of more than 64 labels, "
	  "expressions and values is not supported" },
};

START_TEST(terms_have_a_limit)
{
	struct arena *arena = arena_new();
	struct buf text = { 0 };
	struct err err = { 0 };
	struct spec spec;
	json_t *obj;

	buf_printf(&text,
	           "{'spec': {'template': {'spec': {'affinity': "
	           "{'podAntiAffinity': {%s: [%s",
	           MUST, sizes_case[_i].before);
	for (int i = 0; i < sizes_case[_i].count; i++)
		buf_printf(&text, "%s%s", i ? ", " : "",
		           sizes_case[_i].repeated);
	buf_printf(&text, "%s]}}}}}}", sizes_case[_i].after);
	obj = parse(text.data);
	spec_init(&spec);
	spec.tasks = 1;
	kube_peers_read(obj, &topology, NULL, 0, arena, &spec, &err);
	ck_assert_str_eq(err.text, sizes_case[_i].want);
	buf_free(&text);
	json_decref(obj);
	arena_free(arena);
}
END_TEST

SUITE(kube_peers)
{
	tcase_add_loop_test(tc, terms_have_a_limit, 0, ARRAY_SIZE(sizes_case));
	tcase_add_loop_test(tc, affinity_becomes_options, 0,
	                    ARRAY_SIZE(peers_case));
}
