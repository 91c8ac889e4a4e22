#include "aischedd/run/kube/object/foreign.h"

#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/plain.h"
#include "aischedd/run/kube/object/wanted.h"
#include "libcommon/buf.h"
#include "tests/unit/check.h"

static const struct conf_pool pool = { .name = "gpu",
	                               .namespace = "ns",
	                               .gpu_resource = "nvidia.com/gpu",
	                               .user_annotation = "example.org/who" };
static const struct kube_home home = { &pool, "c1", "store1", 600,
	                               false, NULL, "ns",     0 };

/* Returns a valid Job after applying a merge patch. */
static json_t *job_with(const char *patch)
{
	static const char plain[] =
	    "{'metadata': {'name': 'train', 'uid': 'u-1',"
	    "   'resourceVersion': '7', 'generation': 2,"
	    "   'labels': {'aisched.io/queue': 'q', 'app': 'x'}},"
	    " 'spec': {'suspend': true, 'parallelism': 1, 'completions': 1,"
	    "   'template': {'spec': {'schedulerName': 'aisched',"
	    "     'terminationGracePeriodSeconds': 30,"
	    "     'containers': [{'name': 'a', 'resources': {'requests':"
	    "       {'cpu': '500m', 'memory': '1Gi'}}}]}}}}";
	struct buf text = { 0 };
	json_error_t e;
	json_t *obj, *more;

	buf_puts(&text, plain);
	for (char *p = text.data; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	obj = json_loads(text.data, 0, &e);
	buf_clear(&text);
	buf_puts(&text, patch);
	for (char *p = text.data; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	more = json_loads(text.data, 0, &e);
	ck_assert_msg(more != NULL, "%s: %s", patch, e.text);
	json_object_update_recursive(obj, more);
	json_decref(more);
	buf_free(&text);
	return obj;
}

/* Returns a valid Job after applying a merge patch to spec.template.spec. */
static json_t *job_of(const char *pod)
{
	struct buf text = { 0 };
	json_t *obj;

	buf_printf(&text, "{'spec': {'template': {'spec': %s}}}", pod);
	obj = job_with(text.data);
	buf_free(&text);
	return obj;
}

static struct arena *arena;
static struct spec spec;
static const char *user;

static const char *const names[] = { "zone", "nvlink" };
static const char *const keys[] = { "zone", "nvidia.com/gpu.clique" };
static const struct conf_topology topology = { .levels = { 2, names },
	                                       .keys = { 2, keys } };

static int read_job(json_t *obj, struct err *err)
{
	int rc = kube_foreign_read(obj, &pool, &topology, NULL, 1000, arena,
	                           &spec, &user, err);

	json_decref(obj);
	return rc;
}

static void setup(void)
{
	arena = arena_new();
}

static void teardown(void)
{
	arena_free(arena);
}

static void must_read(json_t *obj)
{
	struct err err;

	ck_assert_msg(read_job(obj, &err) == 0, "%s", err.text);
}

START_TEST(asks_for_what_its_pods_ask_for)
{
	must_read(job_with("{}"));
	ck_assert_str_eq(spec.name, "train");
	ck_assert_str_eq(spec.queue, "q");
	ck_assert_str_eq(spec.pool, "gpu");
	ck_assert_str_eq(spec.kube_uid, "u-1");
	ck_assert_int_eq(spec.tasks, 1);
	ck_assert_int_eq(spec.cpus, 500);
	ck_assert_int_eq(spec.mem, 1024);
	ck_assert_int_eq(spec.gpus, SPEC_UNSET);
	ck_assert_int_eq(spec.grace, 30);
	ck_assert_int_eq(spec.time_limit, SPEC_UNSET);
	ck_assert_int_eq(spec.requeue, 1);
	ck_assert_ptr_null(user);
}
END_TEST

START_TEST(counts_as_kubernetes_counts)
{
	must_read(
	    job_of("{'overhead': {'cpu': '250m', 'memory': '16Mi'},"
	           " 'initContainers': ["
	           "   {'resources': {'requests': {'cpu': '4'}}},"
	           "   {'restartPolicy': 'Always',"
	           "    'resources': {'requests': {'memory': '1Gi'}}}],"
	           " 'containers': [{'resources': {'requests': {'cpu': '1',"
	           "   'memory': '100Mi', 'nvidia.com/gpu': '2'}}}]}"));
	ck_assert_int_eq(spec.cpus, 4250);
	ck_assert_int_eq(spec.mem, 1024 + 100 + 16);
	ck_assert_int_eq(spec.gpus, 2000);
}
END_TEST

/* If a resource has only a limit, its request equals the limit. The API server
 * adds this request to pods, but not to templates. */
START_TEST(what_is_only_limited_is_asked_for)
{
	must_read(job_of("{'containers': [{'resources': {'limits': {'cpu': '2',"
	                 " 'memory': '1Gi', 'nvidia.com/gpu': '3'},"
	                 " 'requests': {'cpu': '1'}}}]}"));
	ck_assert_int_eq(spec.cpus, 1000);
	ck_assert_int_eq(spec.mem, 1024);
	ck_assert_int_eq(spec.gpus, 3000);
	must_read(job_of("{'resources': {'limits': {'memory': '2Gi'}},"
	                 " 'containers': [{'name': 'a'}]}"));
	ck_assert_int_eq(spec.mem, 2048);
}
END_TEST

START_TEST(a_partition_is_a_type_of_gpu)
{
	must_read(job_of("{'initContainers': [{'resources': {'limits':"
	                 " {'nvidia.com/mig-1g.10gb.me': '1'}}}],"
	                 " 'containers': [{'resources': {'limits':"
	                 " {'nvidia.com/mig-1g.10gb.me': '1'}}}]}"));
	ck_assert_int_eq(spec.gpus, 1000);
	ck_assert_str_eq(spec.gpu_type, "1g.10gb+me");
}
END_TEST

/* CPUs are multiplied if the pool overcommits them, so that pods of these Jobs
 * count like those of aisub. */
START_TEST(its_cpus_are_more_where_cpus_are_overcommitted)
{
	struct conf_pool own = pool;
	json_t *obj = job_of("{'containers': [{'resources': {'requests':"
	                     " {'cpu': '1500m'}}}]}");
	struct err err;

	own.cpu_overcommit = 2500;
	ck_assert_int_eq(kube_foreign_read(obj, &own, &topology, NULL, 1000,
	                                   arena, &spec, &user, &err),
	                 0);
	ck_assert_int_eq(spec.cpus, 3750);
	json_decref(obj);
}
END_TEST

START_TEST(leaves_to_the_queue_what_is_not_said)
{
	must_read(job_of("{'containers': [{'name': 'a'}]}"));
	ck_assert_int_eq(spec.cpus, SPEC_UNSET);
	ck_assert_int_eq(spec.mem, SPEC_UNSET);
}
END_TEST

/* Jobs with parallelism and completions; and how many tasks the job gets. */
static const struct {
	const char *patch;
	int64_t tasks;
} widths[] = {
	{ "{'spec': {'parallelism': 4, 'completions': 8}}", 4 },
	{ "{'spec': {'parallelism': 8, 'completions': 4}}", 4 },
	{ "{'spec': {'parallelism': 3, 'completions': null}}", 3 },
};

START_TEST(has_a_task_for_each_pod_at_a_time)
{
	must_read(job_with(widths[_i].patch));
	ck_assert_int_eq(spec.tasks, widths[_i].tasks);
}
END_TEST

START_TEST(says_more_in_labels_and_annotations)
{
	must_read(job_with(
	    "{'metadata': {'labels': {'aisched.io/class': 'interactive'},"
	    " 'annotations': {'aisched.io/time': '90s', 'a/time': '1',"
	    "   'aisched.io/topology': 'rack', 'aisched.io/hold': 'yes',"
	    "   'aisched.io/segment': '2', 'aisched.io/links': 'strict',"
	    "   'aisched.io/exclusive': 'no', 'example.org/who': 'ann@x',"
	    "   'aisched.io/constraint': 'ib|fast'}},"
	    " 'spec': {'activeDeadlineSeconds': 5,"
	    "   'template': {'spec': {'nodeSelector': {'disk': 'ssd'}}}}}"));
	ck_assert_str_eq(spec.class, "interactive");
	ck_assert_str_eq(spec.topology, "rack");
	ck_assert_int_eq(spec.segment, 2);
	ck_assert_str_eq(spec.links, "strict");
	ck_assert_str_eq(spec.constraint, "(ib|fast)&disk=ssd");
	ck_assert_str_eq(user, "k8s:user:ann@x");
	ck_assert_int_eq(spec.time_limit, 90);
	ck_assert_int_eq(spec.hold, 1);
	ck_assert_int_eq(spec.exclusive, SPEC_UNSET);
}
END_TEST

START_TEST(has_its_deadline_for_a_time_limit)
{
	must_read(job_with("{'spec': {'activeDeadlineSeconds': 60}}"));
	ck_assert_int_eq(spec.time_limit, 60);
}
END_TEST

static const struct {
	const char *patch, *text;
} refused[] = {
	{ "{'spec': {'suspend': false}}", "spec.suspend" },
	{ "{'spec': {'suspend': 'yes'}}", "spec.suspend" },
	{ "{'spec': {'parallelism': 0}}", "no pods" },
	{ "{'spec': {'parallelism': -3}}", "no pods" },
	{ "{'spec': {'parallelism': 4000000000,"
	  " 'completions': 4000000000}}",
	  "tasks" },
	{ "{'spec': {'managedBy': 'kueue.x-k8s.io/multikueue'}}", "kueue" },
	{ "{'spec': {'template': {'spec': null}}}", "template" },
	{ "{'spec': {'template': {'spec': []}}}", "template" },
	{ "{'spec': {'activeDeadlineSeconds': 'x'}}", "activeDeadline" },
	{ "{'metadata': {'uid': 7}}", "uid" },
	{ "{'metadata': {'annotations': {'aisched.io/time': 'long'}}}",
	  "aisched.io/time" },
	{ "{'metadata': {'annotations': {'aisched.io/tiem': '1h'}}}",
	  "no 'aisched.io/tiem'" },
	{ "{'metadata': {'annotations': {'aisched.io/output': '/etc/x'}}}",
	  "no 'aisched.io/output'" },
	{ "{'metadata': {'annotations': {'aisched.io/hold': 'perhaps'}}}",
	  "aisched.io/hold" },
	{ "{'metadata': {'annotations': {'aisched.io/nice': 7}}}", "nice" },
	{ "{'metadata': {'annotations': {'aisched.io/constraint': '(a'}}}",
	  "constraint" },
	{ "{'metadata': {'annotations': {'example.org/who': 'a\\nb'}}}",
	  "example.org/who" },
};

START_TEST(is_refused_with_a_reason)
{
	struct err err;

	ck_assert_int_lt(read_job(job_with(refused[_i].patch), &err), 0);
	ck_assert_msg(strstr(err.text, refused[_i].text) != NULL, "%s",
	              err.text);
}
END_TEST

#define REQUIRED "'requiredDuringSchedulingIgnoredDuringExecution'"

static const struct {
	const char *pod, *text;
} pods_refused[] = {
	{ "{'schedulerName': 'default-scheduler'}", "schedulerName" },
	{ "{'nodeName': 'n1'}", "nodeName" },
	{ "{'schedulingGates': [{'name': 'g'}]}", "schedulingGates" },
	{ "{'resourceClaims': [{'name': 'g'}]}", "resourceClaims" },
	{ "{'containers': [{'resources': {'claims': [{'name': 'g'}]}}]}",
	  "claims" },
	{ "{'containers': [{'resources': {'limits': {'x.y/rdma': '1'}}}]}",
	  "x.y/rdma" },
	{ "{'initContainers': [{'resources':"
	  " {'requests': {'hugepages-2Mi': '4Mi'}}}]}",
	  "hugepages" },
	{ "{'containers': [{'ports': [{'hostPort': 80}]}]}", "hostPort" },
	{ "{'affinity': {'nodeAffinity': {" REQUIRED ": {}}}}",
	  "nodeAffinity" },
	{ "{'topologySpreadConstraints': [{'maxSkew': 1}]}", "Spread" },
	{ "{'containers': [{'resources': {'requests': {'cpu': '1e30'}}}]}",
	  "cpus" },
	{ "{'containers': [{'resources': {'requests': {'memory': '9E'}}},"
	  " {'resources': {'requests': {'memory': '9E'}}}]}",
	  "mem" },
	{ "{'containers': [{'resources': {'requests':"
	  " {'nvidia.com/gpu': '9223372036854775807'}}}]}",
	  "gpus" },
	{ "{'containers': [{'resources': {'limits': {'nvidia.com/mig-1g.10gb':"
	  " '1', 'nvidia.com/gpu': '1'}}}]}",
	  "ask for a 1g.10gb and for other GPUs" },
	{ "{'containers': [{'resources': {'limits':"
	  " {'nvidia.com/mig-1g.10gb': '1'}}}, {'resources': {'limits':"
	  " {'nvidia.com/mig-3g.40gb': '1'}}}]}",
	  "ask for a 3g.40gb and for other GPUs" },
	{ "{'containers': [{'resources': {'limits':"
	  " {'nvidia.com/mig-9g.99gb': '1'}}}]}",
	  "nvidia.com/mig-9g.99gb" },
};

START_TEST(pods_are_refused_with_a_reason)
{
	struct err err;

	ck_assert_int_lt(read_job(job_of(pods_refused[_i].pod), &err), 0);
	ck_assert_msg(strstr(err.text, pods_refused[_i].text) != NULL, "%s",
	              err.text);
}
END_TEST

#define OF_JOB ", 'matchLabelKeys': ['batch.kubernetes.io/job-name']"
#define EVEN(key, skew, when, more)                                          \
	"{'topologyKey': '" key "', 'maxSkew': " skew                        \
	", 'whenUnsatisfiable': '" when "', 'labelSelector': {'matchLabels'" \
	": {'app': 'x'}}" more "}"
#define MUST "DoNotSchedule"
#define MAY  "ScheduleAnyway"
#define HOST "kubernetes.io/hostname"
#define NAME "'batch.kubernetes.io/job-name'"

/* Constraints and annotations; what --spread would say, or the error. */
static const struct {
	const char *list, *notes, *want;
} spreads[] = {
	{ EVEN("topology.kubernetes.io/zone", "1", MUST, OF_JOB), "", "zone" },
	{ EVEN("nvidia.com/gpu.clique", "1", MUST, OF_JOB), "", "nvlink" },
	{ EVEN(HOST, "1", MUST, OF_JOB), "", "node" },
	{ EVEN(HOST, "1", MAY, OF_JOB), "", "node:preferred" },
	{ EVEN("zone", "1", MAY, OF_JOB) ", " EVEN(HOST, "1", MUST, OF_JOB), "",
	  "node" },
	{ EVEN("shelf", "1", MAY, OF_JOB) ", " EVEN(HOST, "1", MAY, OF_JOB), "",
	  "node:preferred" },
	{ EVEN("zone", "5", MAY, ""), "", NULL },
	{ EVEN("zone", "1", MAY, OF_JOB), "'aisched.io/topology': 'zone'",
	  NULL },
	{ EVEN("zone", "1", MAY, OF_JOB), "'aisched.io/spread': 'node'",
	  "node" },
	{ "", "'aisched.io/spread': 'zone:preferred'", "zone:preferred" },
	{ "{'topologyKey': 'zone', 'maxSkew': 1, 'labelSelector':"
	  " {'matchLabels': {" NAME ": 'train'}}}",
	  "", "zone" },
	{ "{'topologyKey': 'zone', 'maxSkew': 1, 'labelSelector':"
	  " {'matchLabels': {" NAME ": 'other'}}}",
	  "", "set labelSelector to" },
	{ "{'topologyKey': 'zone', 'maxSkew': 1, 'labelSelector':"
	  " {'matchExpressions': [{'key': 'app', 'operator': 'Exists'}]}}",
	  "", "set labelSelector to" },
	{ "{'topologyKey': 'zone', 'maxSkew': 1" OF_JOB "}", "",
	  "set labelSelector to" },
	{ EVEN("zone", "1", MUST, ""), "", "may count pods of others" },
	{ EVEN("zone", "2", MUST, OF_JOB), "", "set maxSkew to 1" },
	{ EVEN("zone", "1", MUST, OF_JOB ", 'minDomains': 3"), "",
	  "minDomains is not supported" },
	{ EVEN("zone", "1", MUST, OF_JOB ", 'nodeAffinityPolicy': 'Ignore'"),
	  "", "set nodeAffinityPolicy to Honor" },
	{ EVEN("shelf", "1", MUST, OF_JOB), "",
	  "topologyKey 'shelf' is the label of no level" },
	{ EVEN("zone", "1", MUST, OF_JOB) ", " EVEN(HOST, "1", MUST, OF_JOB),
	  "", "only one with DoNotSchedule" },
	{ EVEN("zone", "1", MUST, OF_JOB), "'aisched.io/spread': 'node'",
	  "give only one" },
	{ EVEN("zone", "1", MUST, OF_JOB), "'aisched.io/topology': 'zone'",
	  NULL },
};

START_TEST(its_pods_are_spread)
{
	struct buf text = { 0 };
	struct request req;
	struct err err = { 0 };
	const char *want = spreads[_i].want;
	int rc;

	buf_printf(&text,
	           "{'metadata': {'annotations': {%s}}, 'spec': {'template': "
	           "{'metadata': {'labels': {'app': 'x'}}, 'spec': "
	           "{'topologySpreadConstraints': [%s]}}}}",
	           spreads[_i].notes, spreads[_i].list);
	rc = read_job(job_with(text.data), &err);
	if (rc < 0)
		ck_assert_msg(want && strstr(err.text, want), "%s", err.text);
	else if (want)
		ck_assert_msg(spec.spread && !strcmp(spec.spread, want), "%s",
		              spec.spread);
	else
		ck_assert_msg(!spec.spread ||
		                  spec_resolve(&spec, 0, &req, &err) < 0,
		              "%s", spec.spread);
	buf_free(&text);
}
END_TEST

START_TEST(says_where_it_stands)
{
	json_t *obj = job_with(
	    "{'spec': {'suspend': false, 'completions': 5},"
	    " 'status': {'succeeded': 2, 'conditions': ["
	    "   {'type': 'Suspended', 'status': 'False'},"
	    "   {'type': 'Failed', 'status': 'True',"
	    "    'reason': 'DeadlineExceeded', 'message': 'too long'}]}}");
	struct kube_foreign f;
	struct err err;

	ck_assert_int_eq(kube_foreign_look(obj, &home, &f, &err), 0);
	ck_assert(f.queued && !f.suspended && f.failed && f.late);
	ck_assert(!f.complete && !f.taken && !f.ours && !f.deleting);
	ck_assert_int_eq(f.rest, 3);
	ck_assert_int_eq(f.generation, 2);
	ck_assert_str_eq(f.message, "too long");
	json_decref(obj);
}
END_TEST

START_TEST(a_first_success_is_the_last_pod_of_a_work_queue)
{
	json_t *obj = job_with("{'spec': {'completions': null},"
	                       " 'status': {'succeeded': 1}}");
	struct kube_foreign f;
	struct err err;

	ck_assert_int_eq(kube_foreign_look(obj, &home, &f, &err), 0);
	ck_assert_int_eq(f.rest, 0);
	json_decref(obj);
}
END_TEST

START_TEST(is_of_the_daemon_that_claimed_it)
{
	const struct kube_home other = { &pool, "c1", "store2", 600,
		                         false, NULL, "ns",     0 };
	json_t *obj = job_with("{}");
	json_t *claim = kube_foreign_claim(&home, "u-1", "7", 42);
	struct kube_foreign f;
	struct err err;

	json_object_update_recursive(obj, claim);
	ck_assert_int_eq(kube_foreign_look(obj, &home, &f, &err), 0);
	ck_assert(f.taken && f.ours);
	ck_assert_uint_eq(f.job, 42);
	ck_assert_int_eq(kube_foreign_look(obj, &other, &f, &err), 0);
	ck_assert(f.taken && !f.ours);
	json_decref(claim);
	json_decref(obj);
}
END_TEST

/* --- pods without a Job --------------------------------------------------- */

#define GATE   "'schedulingGates': [{'name': 'aisched.io/queue'}],"
#define SPARED "'schedulerName': 'aisched', 'containers': [{'name': 'a'}]"

/* Returns a pod with this spec and more fields of its metadata and status. */
static json_t *pod_of(const char *meta, const char *spec_text,
                      const char *status)
{
	struct buf text = { 0 };
	json_t *obj;

	buf_printf(&text,
	           "{'metadata': {'name': 'web-1', 'uid': 'p-1', %s"
	           " 'labels': {'aisched.io/queue': 'q', 'app': 'web'}},"
	           " 'spec': {%s}, 'status': {%s}}",
	           meta, spec_text, status);
	for (char *p = text.data; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	obj = json_loads(text.data, 0, NULL);
	ck_assert_ptr_nonnull(obj);
	buf_free(&text);
	return obj;
}

/* Returns the Job as which the pod is read; frees the pod. */
static json_t *as_job(json_t *pod)
{
	json_t *job = kube_plain_job(pod);

	json_decref(pod);
	ck_assert_ptr_nonnull(job);
	return job;
}

START_TEST(a_pod_is_a_job_that_runs_once)
{
	must_read(as_job(
	    pod_of("",
	           GATE "'schedulerName': 'aisched', 'containers': [{"
	                "'resources': {'requests': {'nvidia.com/gpu': '2'}}}]",
	           "'phase': 'Pending'")));
	ck_assert_str_eq(spec.name, "web-1");
	ck_assert_str_eq(spec.kube_uid, "p-1");
	ck_assert_int_eq(spec.kube_pod, 1);
	ck_assert_int_eq(spec.tasks, 1);
	ck_assert_int_eq(spec.gpus, 2000);
	ck_assert_int_eq(spec.requeue, 0);
	ck_assert_int_eq(spec.time_limit, TIME_UNLIMITED);
	must_read(as_job(
	    pod_of("", GATE SPARED ", 'activeDeadlineSeconds': 60", "")));
	ck_assert_int_eq(spec.time_limit, 60);
}
END_TEST

static const struct {
	const char *meta, *spec, *want; /* want: NULL: it is read */
} pods[] = {
	{ "", GATE SPARED, NULL },
	{ "", SPARED, "in spec.schedulingGates" },
	{ "", GATE "'containers': []", "set spec.schedulerName to 'aisched'" },
	{ "", GATE SPARED ", 'nodeName': 'n'", "spec.nodeName is set" },
	{ "'annotations': {'aisched.io/requeue': 'yes'},", GATE SPARED,
	  "a pod cannot run again" },
};

START_TEST(a_pod_is_refused_with_a_reason)
{
	json_t *job = as_job(pod_of(pods[_i].meta, pods[_i].spec, ""));
	struct err err = { 0 };
	int rc = read_job(job, &err);

	ck_assert_int_eq(rc, pods[_i].want ? -1 : 0);
	if (rc < 0)
		ck_assert_msg(strstr(err.text, pods[_i].want) != NULL, "%s",
		              err.text);
}
END_TEST

#define OWNER(kind) \
	"'ownerReferences': [{'controller': true, 'kind': '" kind "'}],"

static const struct {
	const char *meta, *spec;
	bool want;
} waiting[] = {
	{ "", GATE SPARED, true },
	{ OWNER("ReplicaSet"), GATE SPARED, true },
	{ OWNER("Job"), GATE SPARED, false },
	{ "", SPARED, true },
	{ "", SPARED ", 'nodeName': 'n'", false },
	{ "'annotations': {'aisched.io/store': 's'},",
	  SPARED ", 'nodeName': 'n'", true },
	{ "", "'schedulerName': 'default-scheduler'", false },
	{ "",
	  "'schedulingGates': [{'name': 'aisched.io/queue'},"
	  " {'name': 'x/y'}]," SPARED,
	  false },
};

START_TEST(a_pod_waits_by_itself)
{
	json_t *pod = pod_of(waiting[_i].meta, waiting[_i].spec, "");

	ck_assert_int_eq(kube_plain_is(pod), waiting[_i].want);
	json_decref(pod);
}
END_TEST

START_TEST(a_pod_says_how_it_ended)
{
	json_t *done = as_job(pod_of("", SPARED, "'phase': 'Succeeded'"));
	json_t *late = as_job(pod_of("", SPARED,
	                             "'phase': 'Failed',"
	                             " 'reason': 'DeadlineExceeded'"));
	struct kube_foreign f;
	struct err err;

	ck_assert_int_eq(kube_foreign_look(done, &home, &f, &err), 0);
	ck_assert(f.plain && f.complete && !f.failed && !f.suspended);
	ck_assert_int_eq(f.rest, 0);
	ck_assert_int_eq(kube_foreign_look(late, &home, &f, &err), 0);
	ck_assert(f.plain && f.failed && f.late);
	json_decref(done);
	json_decref(late);
}
END_TEST

/* Pods that share a claim are one task: they run on one node, and its GPUs
 * count once. */
START_TEST(pods_that_share_a_claim_are_a_task)
{
	const struct kube_wanted wanted = { .n = 2, .shared = 2, .own = 1 };
	json_t *obj =
	    job_with("{'spec': {'parallelism': 3, 'completions': 3}}");
	struct err err;

	ck_assert_int_eq(kube_foreign_read(obj, &pool, &topology, &wanted, 1000,
	                                   arena, &spec, &user, &err),
	                 0);
	ck_assert_int_eq(spec.tasks, 1);
	ck_assert_int_eq(spec.kube_pods, 3);
	ck_assert_int_eq(spec.gpus, 5000);
	ck_assert_int_eq(spec.cpus, 1500);
	ck_assert_int_eq(spec.mem, 3072);
	json_decref(obj);
}
END_TEST

START_TEST(a_claim_is_for_each_pod)
{
	const struct kube_wanted wanted = { .n = 1, .own = 2, .numa = true };
	json_t *obj =
	    job_with("{'spec': {'parallelism': 3, 'completions': 3}}");
	struct err err;

	ck_assert_int_eq(kube_foreign_read(obj, &pool, &topology, &wanted, 1000,
	                                   arena, &spec, &user, &err),
	                 0);
	ck_assert_int_eq(spec.tasks, 3);
	ck_assert_int_eq(spec.kube_pods, SPEC_UNSET);
	ck_assert_int_eq(spec.gpus, 2000);
	ck_assert_str_eq(spec.numa, "strict");
	json_decref(obj);
}
END_TEST

SUITE(kube_foreign)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, asks_for_what_its_pods_ask_for);
	tcase_add_test(tc, counts_as_kubernetes_counts);
	tcase_add_test(tc, what_is_only_limited_is_asked_for);
	tcase_add_test(tc, a_partition_is_a_type_of_gpu);
	tcase_add_test(tc, its_cpus_are_more_where_cpus_are_overcommitted);
	tcase_add_test(tc, leaves_to_the_queue_what_is_not_said);
	tcase_add_test(tc, pods_that_share_a_claim_are_a_task);
	tcase_add_test(tc, a_claim_is_for_each_pod);
	tcase_add_loop_test(tc, has_a_task_for_each_pod_at_a_time, 0,
	                    ARRAY_SIZE(widths));
	tcase_add_test(tc, says_more_in_labels_and_annotations);
	tcase_add_test(tc, has_its_deadline_for_a_time_limit);
	tcase_add_loop_test(tc, is_refused_with_a_reason, 0,
	                    ARRAY_SIZE(refused));
	tcase_add_loop_test(tc, pods_are_refused_with_a_reason, 0,
	                    ARRAY_SIZE(pods_refused));
	tcase_add_loop_test(tc, its_pods_are_spread, 0, ARRAY_SIZE(spreads));
	tcase_add_test(tc, says_where_it_stands);
	tcase_add_test(tc, a_first_success_is_the_last_pod_of_a_work_queue);
	tcase_add_test(tc, is_of_the_daemon_that_claimed_it);
	tcase_add_test(tc, a_pod_is_a_job_that_runs_once);
	tcase_add_loop_test(tc, a_pod_is_refused_with_a_reason, 0,
	                    ARRAY_SIZE(pods));
	tcase_add_loop_test(tc, a_pod_waits_by_itself, 0, ARRAY_SIZE(waiting));
	tcase_add_test(tc, a_pod_says_how_it_ended);
}
