/*
 * test_examples.c - the examples of Kubernetes' documentation about placing
 * pods
 *
 * The examples are from its pages on assigning pods to nodes, affinity, taints,
 * spread, priority, volumes of nodes and Jobs. Each, as a Job in our queue,
 * either runs on the nodes that kube-scheduler would allow, or is refused with
 * a sentence that names the field. Preferences of pods do not restrict nodes;
 * they become --prefer (test_affinity.c).
 */
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/object/foreign.h"
#include "aischedd/run/kube/object/peers.h"
#include "libcommon/buf.h"
#include "libcommon/constraint.h"
#include "tests/unit/check.h"

#define MUST  "'requiredDuringSchedulingIgnoredDuringExecution'"
#define WOULD "'preferredDuringSchedulingIgnoredDuringExecution'"
#define TERMS(list) \
	MUST ": {'nodeSelectorTerms': [{'matchExpressions': [" list "]}]}"
#define WISH(weight, key, value)                              \
	"{'weight': " weight                                  \
	", 'preference': {'matchExpressions': [{'key': '" key \
	"', 'operator': 'In', 'values': ['" value "']}]}}"
#define WHERE(what, value)                                      \
	"'labelSelector': {'matchExpressions': [{'key': '" what \
	"', 'operator': 'In', 'values': ['" value               \
	"']}]}, 'topologyKey': 'topology.kubernetes.io/zone'"
#define SPREAD(key)                                \
	"{'maxSkew': 1, 'topologyKey': '" key      \
	"', 'whenUnsatisfiable': 'DoNotSchedule'," \
	" 'labelSelector': {'matchLabels': {'foo': 'bar'}}}"

/* The nodes, named by letters, with their labels and taints. */
static const struct {
	char name;
	const char *label[4], *taint[2];
} nodes[] = {
	{ 'a', { "kubernetes.io/os=linux", "disktype=ssd" }, { NULL } },
	{ 'b',
	  { "kubernetes.io/os=linux",
	    "topology.kubernetes.io/zone=antarctica-east1", "label-1=key-1" },
	  { NULL } },
	{ 'c',
	  { "kubernetes.io/os=windows",
	    "topology.kubernetes.io/zone=antarctica-west1" },
	  { NULL } },
	{ 'd',
	  { "kubernetes.io/os=linux", "topology.kubernetes.io/zone=zoneC" },
	  { NULL } },
	{ 't', { "kubernetes.io/os=linux" }, { "key1=value1" } },
	{ 'e', { "kubernetes.io/os=linux" }, { "key1:NoExecute=value1" } },
	{ 'x', { "kubernetes.io/os=linux" }, { "example-key" } },
};

/* The specs of the pods and of the Job; and the nodes that are allowed, or NULL
 * and a part of the refusal. */
static const struct {
	const char *page, *pod, *job, *allowed, *refused;
} examples[] = {
	{ "assign to nodes: by label", "'nodeSelector': {'disktype': 'ssd'}",
	  "", "a", NULL },
	{ "assign to nodes: by name", "'nodeName': 'foo-node'", "", NULL,
	  "spec.template.spec.nodeName is set" },
	{ "assign to nodes: required",
	  "'affinity': {'nodeAffinity': {" TERMS(
	      "{'key': 'disktype', 'operator': 'In', 'values': ['ssd']}") "}}",
	  "", "a", NULL },
	{ "assign to nodes: preferred",
	  "'affinity': {'nodeAffinity': {" WOULD
	  ": [" WISH("1", "disktype", "ssd") "]}}",
	  "", "abcd", NULL },
	{ "affinity: zones, and a wish",
	  "'affinity': {'nodeAffinity': {" TERMS(
	      "{'key': 'topology.kubernetes.io/zone', 'operator': 'In',"
	      " 'values': ['antarctica-east1', 'antarctica-west1']}") ", " WOULD
	                                                              ": [" WISH(
									  "1",
									  "another-node-label-key",
									  "another-node-label-value") "]}}",
	  "", "bc", NULL },
	{ "affinity: weights of wishes",
	  "'affinity': {'nodeAffinity': {" TERMS(
	      "{'key': 'kubernetes.io/os', 'operator': 'In',"
	      " 'values': ['linux']}") ", " WOULD
	                               ": [" WISH(
					   "1", "label-1",
					   "key-1") ", " WISH("50", "label-2",
	                                                      "key-2") "]}}",
	  "", "abd", NULL },
	{ "affinity: to pods",
	  "'affinity': {'podAffinity': {" MUST ": [{" WHERE(
	      "security", "S1") "}]}, 'podAntiAffinity': {" WOULD
	                        ": [{'weight': 100, 'podAffinityTerm': {" WHERE(
				    "security", "S2") "}}]}}",
	  "", NULL, "podAffinity: its labelSelector matches pods of no Job" },
	{ "affinity: away from pods",
	  "'affinity': {'podAntiAffinity': {" MUST
	  ": [{'labelSelector': {'matchExpressions': [{'key': 'app',"
	  " 'operator': 'In', 'values': ['store']}]},"
	  " 'topologyKey': 'kubernetes.io/hostname'}]}}",
	  "", "abcd", NULL },
	{ "affinity: a field",
	  "'affinity': {'nodeAffinity': {" MUST
	  ": {'nodeSelectorTerms': [{'matchFields': [{'key': 'metadata.name',"
	  " 'operator': 'In', 'values': ['foo-node']}]}]}}}",
	  "", NULL, "matchFields is not supported" },
	{ "scheduling readiness", "'schedulingGates': [{'name': 'e/foo'}]", "",
	  NULL, "schedulingGates" },
	{ "taints: a key",
	  "'tolerations': [{'key': 'example-key', 'operator': 'Exists',"
	  " 'effect': 'NoSchedule'}]",
	  "", "abcdx", NULL },
	{ "taints: a value",
	  "'tolerations': [{'key': 'key1', 'operator': 'Equal',"
	  " 'value': 'value1', 'effect': 'NoSchedule'}]",
	  "", "abcdt", NULL },
	{ "taints: both effects",
	  "'tolerations': [{'key': 'key1', 'operator': 'Equal',"
	  " 'value': 'value1', 'effect': 'NoSchedule'}, {'key': 'key1',"
	  " 'operator': 'Equal', 'value': 'value1', 'effect': 'NoExecute'}]",
	  "", "abcdte", NULL },
	{ "taints: any effect",
	  "'tolerations': [{'key': 'key1',"
	  " 'operator': 'Exists'}]",
	  "", "abcdte", NULL },
	{ "taints: for some time",
	  "'tolerations': [{'key': 'key1', 'operator': 'Equal',"
	  " 'value': 'value1', 'effect': 'NoExecute',"
	  " 'tolerationSeconds': 3600}]",
	  "", "abcde", NULL },
	{ "taints: a node that is lost",
	  "'tolerations': [{'key': 'node.kubernetes.io/unreachable',"
	  " 'operator': 'Exists', 'effect': 'NoExecute',"
	  " 'tolerationSeconds': 6000}]",
	  "", "abcd", NULL },
	{ "taints: a larger value",
	  "'tolerations': [{'key': 'e.org/level', 'operator': 'Gt',"
	  " 'value': '900', 'effect': 'NoSchedule'}]",
	  "", NULL, "tolerations: operator 'Gt' is not supported" },
	{ "taints: all", "'tolerations': [{'operator': 'Exists'}]", "", NULL,
	  "tolerations: one is of every taint" },
	{ "spread: one constraint",
	  "'topologySpreadConstraints': [" SPREAD("zone") "]", "", NULL,
	  "topologySpreadConstraints: set labelSelector to" },
	{ "spread: two constraints",
	  "'topologySpreadConstraints': [" SPREAD("zone") ", " SPREAD(
	      "node") "]",
	  "", NULL, "topologySpreadConstraints: set labelSelector to" },
	{ "spread: with affinity",
	  "'topologySpreadConstraints': [" SPREAD("zone") "], 'affinity': {'nodeAffinity': {" TERMS(
	      "{'key': 'zone', 'operator': 'NotIn', 'values': ['zoneC']}") "}}",
	  "", NULL, "topologySpreadConstraints: set labelSelector to" },
	{ "priority", "'priorityClassName': 'high-priority'", "", "abcd",
	  NULL },
	{ "volumes: a claim",
	  "'volumes': [{'name': 'v', 'persistentVolumeClaim':"
	  " {'claimName': 'task-pv-claim'}}]",
	  "", "abcd", NULL },
	{ "volumes: one for each pod",
	  "'volumes': [{'name': 'v', 'ephemeral': {'volumeClaimTemplate':"
	  " {'spec': {'accessModes': ['ReadWriteOnce']}}}}]",
	  "", NULL, "ephemeral volumes are not supported" },
	{ "volumes: a folder of the node",
	  "'volumes': [{'name': 'v', 'hostPath': {'path': '/data'}}]", "",
	  "abcd", NULL },
	{ "Jobs: one pod", "'restartPolicy': 'Never'", "'backoffLimit': 4",
	  "abcd", NULL },
	{ "Jobs: indexed", "'restartPolicy': 'Never'",
	  "'completions': 5, 'parallelism': 3, 'completionMode': 'Indexed'",
	  "abcd", NULL },
	{ "Jobs: a work queue", "'restartPolicy': 'OnFailure'",
	  "'completions': null, 'parallelism': 2", "abcd", NULL },
	{ "Jobs: of a CronJob", "'restartPolicy': 'OnFailure'", "", "abcd",
	  NULL },
};

static json_t *job_of(size_t i)
{
	struct buf text = { 0 };
	json_error_t e;
	json_t *obj;

	buf_printf(&text,
	           "{'metadata': {'name': 'j', 'uid': 'u-1',"
	           " 'resourceVersion': '7',"
	           " 'labels': {'aisched.io/queue': 'q'}},"
	           " 'spec': {'suspend': true, %s%s 'template': {'spec': {"
	           "  'schedulerName': 'aisched', %s,"
	           "  'containers': [{'name': 'a', 'image': 'a'}]}}}}",
	           examples[i].job, *examples[i].job ? "," : "",
	           examples[i].pod);
	for (char *p = text.data; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	obj = json_loads(text.data, 0, &e);
	ck_assert_msg(obj != NULL, "%s: %s", examples[i].page, e.text);
	buf_free(&text);
	return obj;
}

/* The features that a constraint names, and the node that is looked at. */
struct asked {
	char *word[64];
	size_t len, node;
};

static int32_t number(const char *word, size_t len, void *arg)
{
	struct asked *a = arg;

	a->word[a->len] = strndup(word, len);
	return (int32_t)a->len++;
}

static bool has(int32_t word, const void *arg)
{
	const struct asked *a = arg;
	bool result = false;

	for (size_t i = 0; i < 4; i++)
		result |= nodes[a->node].label[i] &&
		          constraint_word_holds(a->word[word],
		                                nodes[a->node].label[i]);
	for (size_t i = 0; i < 2; i++)
		result |= nodes[a->node].taint[i] &&
		          constraint_word_holds(a->word[word],
		                                nodes[a->node].taint[i]);
	return result;
}

static bool tolerates(const struct asked *a, const int32_t *rule, size_t n,
                      const char *taint)
{
	for (size_t i = 0; i < n; i++)
		if (rule[i] >= 0 &&
		    (i + 1 == n || rule[i + 1] != CONSTRAINT_NOT) &&
		    constraint_word_holds(a->word[rule[i]], taint))
			return true;
	return false;
}

/* Set ret to the letters of the nodes that the constraint allows. */
static void find_allowed(const char *constraint, char *ret)
{
	struct asked a = { .len = 0 };
	int32_t rule[256];
	size_t n = 0;

	if (constraint)
		ck_assert_int_eq(constraint_parse(constraint, number, &a, rule,
		                                  256, &n, NULL),
		                 0);
	for (a.node = 0; a.node < ARRAY_SIZE(nodes); a.node++) {
		const char *taint = nodes[a.node].taint[0];

		if (constraint_holds(rule, n, has, &a) &&
		    (!taint || tolerates(&a, rule, n, taint)))
			*ret++ = nodes[a.node].name;
	}
	*ret = '\0';
	while (a.len--)
		free(a.word[a.len]);
}

static const char *const names[] = { "zone" };
static const char *const keys[] = { "zone" };
static const struct conf_topology topology = { .levels = { 1, names },
	                                       .keys = { 1, keys } };

START_TEST(is_placed_by_the_same_rule_or_refused)
{
	static const struct conf_pool pool = { .name = "p",
		                               .namespace = "ns",
		                               .gpu_resource = "g" };
	struct arena *arena = arena_new();
	json_t *obj = job_of((size_t)_i);
	char allowed[ARRAY_SIZE(nodes) + 1];
	const char *user;
	struct spec spec;
	struct err err = { 0 };
	int rc = kube_foreign_read(obj, &pool, &topology, NULL, 1000, arena,
	                           &spec, &user, &err);

	if (rc == 0)
		rc = kube_peers_read(obj, &topology, NULL, 0, arena, &spec,
		                     &err);
	if (examples[_i].refused) {
		ck_assert_msg(rc < 0 && strstr(err.text, examples[_i].refused),
		              "%s: %s", examples[_i].page, err.text);
	} else {
		ck_assert_msg(rc == 0, "%s: %s", examples[_i].page, err.text);
		find_allowed(spec.constraint, allowed);
		ck_assert_msg(!strcmp(allowed, examples[_i].allowed),
		              "%s: on %s, not %s", examples[_i].page, allowed,
		              examples[_i].allowed);
	}
	json_decref(obj);
	arena_free(arena);
}
END_TEST

SUITE(kube_examples)
{
	tcase_add_loop_test(tc, is_placed_by_the_same_rule_or_refused, 0,
	                    ARRAY_SIZE(examples));
}
