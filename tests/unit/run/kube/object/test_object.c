#include "aischedd/run/kube/object/object.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/init.h"
#include "aischedd/run/kube/object/job.h"
#include "aischedd/run/kube/object/pod.h"
#include "aischedd/run/kube/object/secret.h"
#include "aischedd/run/kube/object/standin.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define GPU "nvidia.com/gpu"

/* --- objects of a job ----------------------------------------------------- */

static const char *const allowed[] = { "pvc:data*", "/data" };
static const struct conf_pool pool = { .name = "gpu",
	                               .namespace = "ns",
	                               .gpu_resource = GPU,
	                               .image = "pool:1",
	                               .allow_mounts = { 2, allowed } };
static const struct kube_home home = { &pool, "My.Cluster", "store1", 600,
	                               false, NULL,         "ns",     0 };
static const char *const nodes[] = { "a", "b" };
static const struct snap_task tasks[5]; /* enough for every test */
static struct spec spec;
static struct request req;
static struct run_job job;

static void setup(void)
{
	spec_init(&spec);
	spec.name = "train";
	spec.workdir = "/home/me";
	spec.output = "out";
	req = (struct request){ .tasks = 2,
		                .cpus_milli = 1500,
		                .mem_mib = 1024,
		                .gpus_milli = 2000 };
	job = (struct run_job){ .job = 17,
		                .attempt = 3,
		                .uid = 1000,
		                .gid = 100,
		                .user = "me",
		                .spec = &spec,
		                .req = &req,
		                .queue = "q",
		                .cluster = "My.Cluster",
		                .time_limit = TIME_UNLIMITED,
		                .grace = 7,
		                .ntasks = 2,
		                .node_name = nodes,
		                .task = tasks,
		                .script = "#!/bin/sh\n",
		                .script_len = 10 };
}

static json_t *made(void)
{
	struct err err;
	json_t *obj = kube_object_job(&home, &job, &err);

	ck_assert_msg(obj != NULL, "%s", err.text);
	return obj;
}

static const char *at(const json_t *obj, const char *path)
{
	struct kube_reader r = { .obj = obj };

	return kube_text(&r, path);
}

START_TEST(names_are_those_of_hosts)
{
	char name[KUBE_NAME_SIZE];

	kube_object_name(name, "My.Cluster", 17, 3);
	ck_assert_str_eq(name, "aj-my-cluster-17-3");
	kube_object_name(name, "a-very-long-name-of-a-cluster", UINT64_MAX,
	                 UINT32_MAX);
	ck_assert_uint_le(strlen(name) + strlen("-99999"), 63);
}
END_TEST

START_TEST(says_whose_it_is)
{
	const struct kube_home other = { &pool, "My.Cluster", "store2", 600,
		                         false, NULL,         "ns",     0 };
	struct kube_owner owner;
	json_t *obj = made();

	ck_assert(kube_object_is_ours(obj, &home, &owner));
	ck_assert_uint_eq(owner.job, 17);
	ck_assert_uint_eq(owner.attempt, 3);
	ck_assert(!kube_object_is_ours(obj, &other, &owner));
	json_decref(obj);
}
END_TEST

START_TEST(a_policy_admits_its_own_pods_and_others_to_its_ports)
{
	json_t *obj, *rules;
	char *text;

	spec.ports = "web=80,board=6006";
	obj = kube_object_policy(&home, &job);
	ck_assert_str_eq(at(obj, "metadata.name"), "aj-my-cluster-17-3");
	rules = json_object_get(json_object_get(obj, "spec"), "ingress");
	text = json_dumps(rules, JSON_COMPACT);
	ck_assert_str_eq(text, "[{\"from\":[{\"podSelector\":{\"matchLabels\":{"
	                       "\"batch.kubernetes.io/job-name\":"
	                       "\"aj-my-cluster-17-3\"}}}]},"
	                       "{\"ports\":[{\"protocol\":\"TCP\",\"port\":80},"
	                       "{\"protocol\":\"TCP\",\"port\":6006}]}]");
	free(text);
	json_decref(obj);
}
END_TEST

START_TEST(a_service_leads_to_its_ports)
{
	struct kube_owner owner;
	json_t *obj, *port;

	spec.ports = "web=80,board=6006";
	obj = kube_object_ports(&home, &job);
	ck_assert_str_eq(at(obj, "metadata.name"), "aj-my-cluster-17-ports");
	ck_assert(kube_object_is_ours(obj, &home, &owner));
	ck_assert_uint_eq(owner.job, 17);
	ck_assert_uint_eq(owner.attempt, 0);
	port = json_array_get(
	    json_object_get(json_object_get(obj, "spec"), "ports"), 1);
	ck_assert_str_eq(json_string_value(json_object_get(port, "name")),
	                 "board");
	ck_assert_int_eq(json_integer_value(json_object_get(port, "port")),
	                 6006);
	json_decref(obj);
}
END_TEST

/* Only the Job controller can replace a failed pod, so a job that requests this
 * gets a backoffLimit. */
START_TEST(pods_that_fail_are_replaced_if_it_asks)
{
	static const struct {
		const char *what;
		int64_t pods;
	} asked[] = { { "replace", 3 }, { "restart", 0 }, { NULL, 0 } };

	spec.max_restarts = 3;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct kube_reader r = { 0 };
		json_t *obj;

		spec.on_task_failure = asked[i].what;
		r.obj = obj = made();
		ck_assert_int_eq(kube_int(&r, "spec.backoffLimitPerIndex", 9),
		                 asked[i].pods);
		json_decref(obj);
	}
}
END_TEST

/* If the job goes on without a pod that is lost, the Job controller makes
 * another one, and does not count a failure. */
START_TEST(pods_that_are_lost_are_no_failures)
{
	static const char cause[] = "{\"action\":\"Ignore\","
				    "\"onPodConditions\":[{\"status\":\"True\","
				    "\"type\":\"DisruptionTarget\"}]}";
	struct kube_home by_claims = home;
	struct kube_reader r = { 0 };
	struct err err;
	json_t *obj = made();
	char *text;

	r.obj = obj;
	ck_assert_ptr_null(kube_list(&r, "spec.podFailurePolicy.rules"));
	json_decref(obj);
	spec.tasks = 2;
	spec.on_task_failure = "replace";
	r.obj = obj = made();
	text = json_dumps(
	    json_array_get(kube_list(&r, "spec.podFailurePolicy.rules"), 0),
	    JSON_COMPACT | JSON_SORT_KEYS);
	ck_assert_str_eq(text, cause);
	free(text);
	json_decref(obj);
	by_claims.by_claims = true;
	r.obj = obj = kube_object_job(&by_claims, &job, &err);
	ck_assert_ptr_nonnull(kube_list(&r, "spec.podFailurePolicy.rules"));
	json_decref(obj);
}
END_TEST

/* Pods tolerate a node that does not answer, because aischedd decides when to
 * give up the node. Otherwise Kubernetes would delete these pods after five
 * minutes. */
START_TEST(silent_nodes_are_given_up_by_us_first)
{
	static const char *const keys[] = { "node.kubernetes.io/not-ready",
		                            "node.kubernetes.io/unreachable" };
	json_t *obj = made();
	struct kube_reader r = { .obj = obj };
	const json_t *list = kube_list(&r, "spec.template.spec.tolerations");

	ck_assert_uint_eq(json_array_size(list), ARRAY_SIZE(keys));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct kube_reader t = { .obj = json_array_get(list, i) };

		ck_assert_str_eq(kube_text(&t, "key"), keys[i]);
		ck_assert_str_eq(kube_text(&t, "effect"), "NoExecute");
		ck_assert_int_gt(kube_int(&t, "tolerationSeconds", 0),
		                 home.node_timeout);
	}
	json_decref(obj);
}
END_TEST

START_TEST(asks_for_what_the_job_asks_for)
{
	json_t *obj = made(), *pod, *list;
	struct kube_reader r = { .obj = obj };

	ck_assert_int_eq(kube_int(&r, "spec.completions", 0), 2);
	ck_assert_int_eq(kube_int(&r, "spec.parallelism", 0), 2);
	ck_assert_int_eq(kube_int(&r, "spec.backoffLimitPerIndex", 9), 0);
	pod = kube_map(&r, "spec.template.spec");
	ck_assert_str_eq(at(pod, "schedulerName"), "aisched");
	ck_assert_str_eq(at(pod, "subdomain"), "aj-my-cluster-17-3");
	r.obj = pod;
	ck_assert_int_eq(kube_int(&r, "securityContext.fsGroup", 0), 100);
	ck_assert_int_eq(kube_int(&r, "terminationGracePeriodSeconds", 0), 7);
	list = json_array_get(json_object_get(pod, "containers"), 0);
	ck_assert_str_eq(at(list, "image"), "pool:1");
	ck_assert_str_eq(at(list, "workingDir"), "/home/me");
	list = json_object_get(json_object_get(list, "resources"), "limits");
	ck_assert_str_eq(at(list, "cpu"), "1500m");
	ck_assert_str_eq(at(list, "memory"), "1024Mi");
	ck_assert_str_eq(json_string_value(json_object_get(list, GPU)), "2");
	json_decref(obj);
}
END_TEST

#define CLASS "deviceclass.resource.kubernetes.io/nics"

/* Returns the pod of the job in a pool with devices by claims and by a plugin;
 * *ret_main: its main container. */
static json_t *pod_with_devices(const char *agent, const json_t **ret_main)
{
	static const struct conf_device kinds[] = {
		{ .name = "nic", .class = "nics", .driver = "d" },
		{ .name = "hca", .resource = "rdma/hca" },
	};
	static const char *const names[] = { "nic", "hca" };
	struct conf_pool with = pool;
	struct kube_home there = home;
	struct err err;
	json_t *obj, *pod;

	with.kinds = kinds;
	with.kind_names = names;
	with.nkinds = 2;
	with.pod_agent_image = agent;
	there.pool = &with;
	obj = kube_object_job(&there, &job, &err);
	ck_assert_msg(obj != NULL, "%s", err.text);
	pod = json_incref((json_t *)kube_map(
	    &(struct kube_reader){ .obj = obj }, "spec.template.spec"));
	json_decref(obj);
	*ret_main = json_array_get(json_object_get(pod, "containers"), 0);
	return pod;
}

/* Returns how many of a resource a container asks for. */
static const char *limit_of(const json_t *container, const char *name)
{
	return kube_word_at(
	    json_object_get(json_object_get(container, "resources"), "limits"),
	    name);
}

START_TEST(a_gang_asks_for_other_devices_by_class)
{
	const json_t *main;
	json_t *pod;

	spec.device = "nic:2,hca:3";
	pod = pod_with_devices(NULL, &main);
	ck_assert_str_eq(limit_of(main, CLASS), "2");
	ck_assert_str_eq(limit_of(main, "rdma/hca"), "3");
	ck_assert_str_eq(limit_of(main, GPU), "2");
	ck_assert_ptr_null(json_object_get(pod, "resourceClaims"));
	json_decref(pod);
}
END_TEST

START_TEST(one_pod_names_the_claim_for_other_devices)
{
	const json_t *main;
	json_t *pod;

	spec.device = "nic:2";
	job.ntasks = req.tasks = req.min_tasks = 1;
	pod = pod_with_devices(NULL, &main);
	ck_assert_str_eq(limit_of(main, CLASS), "");
	ck_assert_str_eq(limit_of(main, GPU), "2");
	ck_assert_str_eq(
	    kube_word_at(
		json_array_get(json_object_get(pod, "resourceClaims"), 0),
		"resourceClaimName"),
	    "aj-my-cluster-17-3-0");
	json_decref(pod);
}
END_TEST

/* The container that installs the agent gets none of them. */
START_TEST(a_pod_of_several_tasks_asks_for_the_devices_of_all)
{
	static const char *const four[] = { "a", "a", "b", "b" };
	const json_t *main, *init;
	json_t *pod;

	spec.device = "nic:2,hca:3";
	spec.launch_script = 1;
	job.node_name = four;
	job.ntasks = req.tasks = 4;
	pod = pod_with_devices("agent:1", &main);
	init = json_array_get(json_object_get(pod, "initContainers"), 0);
	ck_assert_str_eq(limit_of(main, CLASS), "4");
	ck_assert_str_eq(limit_of(main, "rdma/hca"), "6");
	ck_assert_str_eq(limit_of(init, CLASS), "");
	json_decref(pod);
}
END_TEST

/* Returns the volume mounted at a path of the pod's only container. */
static const json_t *volume_at(const json_t *pod, const char *path)
{
	const json_t *main =
	    json_array_get(json_object_get(pod, "containers"), 0);
	const json_t *mount, *volume;
	size_t i, k;

	json_array_foreach(json_object_get(main, "volumeMounts"), i, mount) {
		if (strcmp(at(mount, "mountPath"), path) != 0)
			continue;
		json_array_foreach(json_object_get(pod, "volumes"), k, volume)
			if (!strcmp(at(volume, "name"), at(mount, "name")))
				return volume;
	}
	return NULL;
}

START_TEST(runs_as_who_submitted_it)
{
	json_t *obj = made();
	struct kube_reader r = { .obj = obj };
	struct kube_reader as = {
		.obj = kube_map(&r, "spec.template.spec.securityContext")
	};

	ck_assert_int_eq(kube_int(&as, "runAsUser", 0), 1000);
	ck_assert_int_eq(kube_int(&as, "runAsGroup", 0), 100);
	ck_assert_int_eq(kube_int(&as, "fsGroup", 0), 100);
	ck_assert(kube_bool(&as, "runAsNonRoot", false));
	ck_assert(!kube_bool(
	    &r, "spec.template.spec.automountServiceAccountToken", true));
	json_decref(obj);
}
END_TEST

START_TEST(has_folders_of_its_own)
{
	json_t *obj = made(), *pod;
	struct kube_reader r = { .obj = obj };

	pod = kube_map(&r, "spec.template.spec");
	ck_assert_str_eq(at(volume_at(pod, "/dev/shm"), "emptyDir.medium"),
	                 "Memory");
	ck_assert_ptr_nonnull(
	    json_object_get(volume_at(pod, "/home/me"), "emptyDir"));
	ck_assert_str_eq(at(volume_at(pod, KUBE_JOB_DIR), "secret.secretName"),
	                 "aj-my-cluster-17-3");
	json_decref(obj);
}
END_TEST

/* The CPU requests and limits of a pod, by the keys of the pool. */
static const struct {
	int64_t overcommit;
	bool unlimited;
	const char *request, *limit;
} cpus[] = {
	{ 1000, false, "1500m", "1500m" },
	{ 1000, true, "1500m", NULL },
	{ 2000, false, "750m", "1500m" },
	{ 7000, true, "214m", NULL }, /* rounded down */
};

START_TEST(cpus_are_asked_for_as_the_pool_says)
{
	struct conf_pool own = pool;
	const struct kube_home there = { &own,  "c",  "s",  600,
		                         false, NULL, "ns", 0 };
	json_t *obj, *pod, *resources, *limit;
	struct err err;

	own.cpu_overcommit = cpus[_i].overcommit;
	own.cpus_unlimited = cpus[_i].unlimited;
	obj = kube_object_job(&there, &job, &err);
	ck_assert_msg(obj != NULL, "%s", err.text);
	pod = json_object_get(
	    json_object_get(json_object_get(obj, "spec"), "template"), "spec");
	resources = json_object_get(
	    json_array_get(json_object_get(pod, "containers"), 0), "resources");
	ck_assert_str_eq(at(json_object_get(resources, "requests"), "cpu"),
	                 cpus[_i].request);
	limit = json_object_get(json_object_get(resources, "limits"), "cpu");
	ck_assert_int_eq(!limit, !cpus[_i].limit);
	if (limit)
		ck_assert_str_eq(json_string_value(limit), cpus[_i].limit);
	json_decref(obj);
}
END_TEST

START_TEST(what_fits_with_overcommit_fits_the_kubelet)
{
	const struct conf_pool own = { .cpu_overcommit = 1700 };
	int64_t have = 8003, others = 1001, left;
	int64_t asked = 0;

	left = kube_cpus_more(&own, have, false) -
	       kube_cpus_more(&own, others, true);
	for (int64_t n = 333; n <= left; left -= n)
		asked += kube_cpus_less(&own, n);
	ck_assert_int_gt(asked, (have - others) / 2);
	ck_assert_int_le(asked + others, have);
	ck_assert(kube_cpus_more(&own, INT64_MAX / 2, true) == INT64_MAX);
}
END_TEST

START_TEST(has_what_the_pool_gives_all)
{
	static const char *const secrets[] = { "first", "second" };
	struct conf_pool giving = pool;
	const struct kube_home there = { &giving, "c",  "s",  600,
		                         false,   NULL, "ns", 0 };
	struct err err;
	json_t *obj, *pod, *list;

	giving.service_account = "runner";
	giving.priority_class = "gangs";
	giving.image_pull_secrets = (struct strlist){ 2, secrets };
	obj = kube_object_job(&there, &job, &err);
	ck_assert_msg(obj != NULL, "%s", err.text);
	pod = json_object_get(
	    json_object_get(json_object_get(obj, "spec"), "template"), "spec");
	ck_assert_str_eq(at(pod, "serviceAccountName"), "runner");
	ck_assert_str_eq(at(pod, "priorityClassName"), "gangs");
	list = json_object_get(pod, "imagePullSecrets");
	ck_assert_uint_eq(json_array_size(list), 2);
	ck_assert_str_eq(at(json_array_get(list, 1), "name"), "second");
	json_decref(obj);
}
END_TEST

static const struct {
	const char *mount, *workdir;
	uint32_t uid;
	const char *refused; /* NULL: it is accepted */
} asked[] = {
	{ "/data", "/w", 1000, NULL },
	{ "/data/sets:/mnt:ro", "/w", 1000, NULL },
	{ "pvc:data1:/mnt,/data", "/w", 1000, NULL },
	{ NULL, "/", 1000, NULL },
	{ "/database", "/w", 1000, "does not allow it" },
	{ "/etc", "/w", 1000, "does not allow it" },
	{ "/data/../etc", "/w", 1000, "use PATH" },
	{ "/data/..:/mnt", "/w", 1000, "use PATH" },
	{ "/data/..hidden:/mnt", "/w", 1000, NULL },
	{ "pvc:other:/mnt", "/w", 1000, "does not allow it" },
	{ "pvc:data1", "/w", 1000, "use PATH" },
	{ "data", "/w", 1000, "use PATH" },
	{ NULL, "/w", 0, "does not run jobs of root" },
};

START_TEST(what_is_allowed)
{
	struct err err = { 0 };
	json_t *obj;

	spec.mount = asked[_i].mount;
	spec.workdir = asked[_i].workdir;
	job.uid = asked[_i].uid;
	obj = kube_object_job(&home, &job, &err);
	if (asked[_i].refused) {
		ck_assert(!obj);
		ck_assert_msg(strstr(err.text, asked[_i].refused) != NULL, "%s",
		              err.text);
	} else {
		ck_assert_msg(obj != NULL, "%s", err.text);
	}
	json_decref(obj);
}
END_TEST

/* The path and the subPath of the volume mounted at /mnt. */
static const struct {
	const char *mount, *folder, *sub; /* sub: NULL: the whole folder */
} links[] = {
	{ "/data:/mnt", "/data", NULL },
	{ "/data/:/mnt", "/data", NULL },
	{ "/data//a/b:/mnt", "/data", "a/b" },
	{ "/data/a:/mnt:ro", "/data", "a" },
	{ "/home/me:/mnt", "/home", "me" },
	{ "/home/me/x:/mnt", NULL, NULL },
	{ "/scratch1/x:/mnt", "/", "scratch1/x" },
};

/* With a subPath, the kubelet makes sure that links made by users do not lead
 * out of the allowed folder. */
START_TEST(links_below_an_allowed_folder_stay_in_it)
{
	static const char *const these[] = { "/data", "/home/*",
		                             "/scratch?/x" };
	struct conf_pool open = pool;
	const struct kube_home there = { &open, "c",  "s",  600,
		                         false, NULL, "ns", 0 };
	const json_t *main, *mount;
	struct kube_reader r;
	struct err err;
	json_t *obj, *pod;

	open.allow_mounts = (struct strlist){ ARRAY_SIZE(these), these };
	spec.mount = links[_i].mount;
	obj = kube_object_job(&there, &job, &err);
	ck_assert_int_eq(obj != NULL, links[_i].folder != NULL);
	if (!obj)
		return;
	r = (struct kube_reader){ .obj = obj };
	pod = kube_map(&r, "spec.template.spec");
	main = json_array_get(json_object_get(pod, "containers"), 0);
	mount = json_array_get(json_object_get(main, "volumeMounts"), 0);
	ck_assert_str_eq(at(volume_at(pod, "/mnt"), "hostPath.path"),
	                 links[_i].folder);
	ck_assert_pstr_eq(at(mount, "subPath"), links[_i].sub);
	json_decref(obj);
}
END_TEST

/* The pod conforms to "restricted" of the Pod Security Standards. */
START_TEST(has_no_more_rights_than_it_needs)
{
	json_t *obj = made();
	struct kube_reader r = { .obj = obj };
	const json_t *pod = kube_map(&r, "spec.template.spec");
	struct kube_reader c = { .obj = json_array_get(
				     json_object_get(pod, "containers"), 0) };
	const json_t *drop = kube_list(&c, "securityContext.capabilities.drop");

	ck_assert_str_eq(json_string_value(json_array_get(drop, 0)), "ALL");
	ck_assert_str_eq(at(c.obj, "securityContext.seccompProfile.type"),
	                 "RuntimeDefault");
	ck_assert(
	    !kube_bool(&c, "securityContext.allowPrivilegeEscalation", true));
	json_decref(obj);
}
END_TEST

START_TEST(root_keeps_the_rights_of_a_container)
{
	struct conf_pool lax = pool;
	const struct kube_home there = { &lax,  "c",  "s",  600,
		                         false, NULL, "ns", 0 };
	struct err err;
	json_t *obj;
	const json_t *pod;
	struct kube_reader r;

	lax.run_as_root = true;
	job.uid = 0;
	obj = kube_object_job(&there, &job, &err);
	r = (struct kube_reader){ .obj = obj };
	pod = kube_map(&r, "spec.template.spec");
	pod = json_object_get(
	    json_array_get(json_object_get(pod, "containers"), 0),
	    "securityContext");
	ck_assert_ptr_nonnull(pod);
	ck_assert_ptr_null(json_object_get(pod, "capabilities"));
	json_decref(obj);
}
END_TEST

/* Arguments arrive unchanged although the kubelet expands $(NAME). */
START_TEST(arguments_are_what_was_said)
{
	json_t *obj, *args;
	struct kube_reader r;
	const json_t *pod;

	spec.args = "[\"$(HOME)\", \"$$\", \"plain\", \"\"]";
	r = (struct kube_reader){ .obj = obj = made() };
	pod = kube_map(&r, "spec.template.spec");
	args = json_object_get(
	    json_array_get(json_object_get(pod, "containers"), 0), "args");
	ck_assert_uint_eq(json_array_size(args), 4);
	ck_assert_str_eq(json_string_value(json_array_get(args, 0)),
	                 "$$(HOME)");
	ck_assert_str_eq(json_string_value(json_array_get(args, 1)), "$$$$");
	ck_assert_str_eq(json_string_value(json_array_get(args, 2)), "plain");
	ck_assert_str_eq(json_string_value(json_array_get(args, 3)), "");
	json_decref(obj);
}
END_TEST

START_TEST(without_image)
{
	struct conf_pool bare = pool;
	const struct kube_home there = { &bare, "c",  "s",  600,
		                         false, NULL, "ns", 0 };
	struct err err;

	bare.image = NULL;
	ck_assert(!kube_object_job(&there, &job, &err));
	ck_assert_msg(strstr(err.text, "no image") != NULL, "%s", err.text);
}
END_TEST

START_TEST(secret_is_text)
{
	char *own;
	json_t *obj = kube_object_secret(&home, &job, 1000, &own);
	json_t *data = json_object_get(obj, "data");

	ck_assert_str_eq(at(data, "script"), "IyEvYmluL3NoCg==");
	ck_assert(at(data, "env") && at(data, "init"));
	ck_assert(at(data, "meet")); /* because the job has several tasks */
	kube_object_own(obj, "n", "u");
	data = json_object_get(json_object_get(obj, "metadata"),
	                       "ownerReferences");
	ck_assert_str_eq(at(json_array_get(data, 0), "uid"), "u");
	json_decref(obj);
}
END_TEST

/* The kernel drops SIGTERM for the first process of a container as long as that
 * has no trap. */
START_TEST(init_has_its_trap_first)
{
	struct buf init = { 0 };
	const char *trap, *first;

	kube_init_script(&init);
	trap = strstr(init.data, "trap ");
	first = strstr(init.data, "/env");
	ck_assert(trap && first && trap < first);
	buf_free(&init);
}
END_TEST

/* Returns the name of the Secret of an array's task, and sets *ret to its
 * Job. */
static char *share(uint32_t task, json_t **ret)
{
	char *own, *name;
	json_t *secret;

	job.job = 100 + task;
	job.array_job = 99;
	job.array_task = task;
	job.env = "HOME=/h\0LANG=C";
	job.env_len = 15;
	secret = kube_object_secret(&home, &job, 1000 + task, &own);
	ck_assert(own != NULL);
	name = xstrdup(at(secret, "metadata.name"));
	*ret = made();
	kube_object_secret_share(*ret, name, own);
	ck_assert_str_eq(kube_object_secret_shared(*ret, &home), name);
	json_decref(secret);
	free(own);
	return name;
}

/* Whether the text ends with this line about the variable, so that no later one
 * replaces it. */
static bool is_last(const char *text, const char *var, const char *line)
{
	const char *found = NULL, *next = text;

	while ((next = strstr(next, var)))
		found = next++;
	return found && !strncmp(found, line, strlen(line));
}

START_TEST(each_pod_of_a_gang_is_a_node)
{
	char *own;
	json_t *obj;

	job.array_job = 99;
	obj = kube_object_secret(&home, &job, 1000, &own);
	ck_assert(is_last(own, "AISCHED_NNODES=", "AISCHED_NNODES='2'\n"));
	ck_assert(
	    is_last(own, "SLURM_JOB_NUM_NODES=", "SLURM_JOB_NUM_NODES='2' "));
	ck_assert(is_last(
	    own, "SLURM_TASKS_PER_NODE=", "SLURM_TASKS_PER_NODE='1(x2)' "));
	ck_assert(is_last(own, "AISCHED_JOB_CPUS_PER_NODE=",
	                  "AISCHED_JOB_CPUS_PER_NODE='2(x2)'\n"));
	ck_assert(is_last(
	    own, "AISCHED_CPUS_ON_NODE=", "AISCHED_CPUS_ON_NODE='2'\n"));
	ck_assert(is_last(
	    own, "AISCHED_GPUS_ON_NODE=", "AISCHED_GPUS_ON_NODE='2'\n"));
	json_decref(obj);
	free(own);
}
END_TEST

/* It is not that of the job in which this one was submitted. */
START_TEST(a_pod_knows_which_start_of_its_job_it_is)
{
	char *own;
	json_t *obj;

	job.array_job = 99;
	job.env = "AISCHED_RUN_ID=old";
	job.env_len = 19;
	obj = kube_object_secret(&home, &job, 1000, &own);
	ck_assert_msg(is_last(own, "AISCHED_RUN_ID=",
	                      "AISCHED_RUN_ID='aj-my-cluster-17-3'\n"),
	              "%s", own);
	json_decref(obj);
	free(own);
}
END_TEST

START_TEST(a_pod_knows_its_node_from_the_kubelet)
{
	json_t *obj = made(), *secret, *env;
	char *own;

	env = json_object_get(json_object_get(obj, "spec"), "template");
	env = json_object_get(json_object_get(env, "spec"), "containers");
	env = json_object_get(json_array_get(env, 0), "env");
	ck_assert_str_eq(at(json_array_get(env, 0), "name"),
	                 "AISCHEDD_NODENAME");
	ck_assert_str_eq(
	    at(json_array_get(env, 0), "valueFrom.fieldRef.fieldPath"),
	    "spec.nodeName");
	job.array_job = 99;
	secret = kube_object_secret(&home, &job, 1000, &own);
	ck_assert_ptr_null(strstr(own, "AISCHEDD_NODENAME='"));
	ck_assert(is_last(own, "SLURMD_NODENAME=",
	                  "SLURMD_NODENAME=\"$AISCHEDD_NODENAME\"\n"));
	ck_assert(is_last(own, "AISCHED_TOPOLOGY_ADDR=",
	                  "AISCHED_TOPOLOGY_ADDR=\"$AISCHEDD_NODENAME\"\n"));
	json_decref(secret);
	json_decref(obj);
	free(own);
}
END_TEST

START_TEST(tasks_of_an_array_share_a_secret)
{
	json_t *a, *b, *pods, *env;
	char *first = share(1, &a), *second = share(2, &b), *third;

	ck_assert_str_eq(first, second);
	ck_assert_uint_le(strlen(first), 63);
	pods = json_object_get(
	    json_object_get(json_object_get(b, "spec"), "template"), "spec");
	env = json_object_get(
	    json_array_get(json_object_get(pods, "containers"), 0), "env");
	ck_assert(strstr(at(json_array_get(env, 1), "value"),
	                 "export AISCHED_ARRAY_TASK_ID='2'\n"));
	/* The kubelet turns "$$" into "$". */
	ck_assert(strstr(at(json_array_get(env, 1), "value"),
	                 "\"$$JOB_COMPLETION_INDEX\""));
	json_decref(a);
	job.script = "#!/bin/zsh";
	third = share(3, &a);
	ck_assert_str_ne(first, third);
	json_decref(a);
	json_decref(b);
	free(first);
	free(second);
	free(third);
}
END_TEST

START_TEST(secrets_of_others_are_not_shared)
{
	json_t *obj = made();

	ck_assert_ptr_null(kube_object_secret_shared(obj, &home));
	kube_object_secret_share(obj, "munge-key", "");
	ck_assert_ptr_null(kube_object_secret_shared(obj, &home));
	json_decref(obj);
}
END_TEST

/* --- pods ----------------------------------------------------------------- */

#define ASKS(cpu, more) \
	"{'resources': {'requests': {'cpu': '" cpu "'}}" more "}"
#define STAYS ", 'restartPolicy': 'Always'"

static const struct {
	const char *name, *spec;
	int64_t cpu;
} uses[] = {
	{ "containers add up",
	  "'containers': [" ASKS("1", "") ", " ASKS("500m", "") "]", 1500 },
	{ "an init container runs before",
	  "'containers': [" ASKS("1", "") "], 'initContainers': [" ASKS(
	      "3", "") ", " ASKS("2", "") "]",
	  3000 },
	{ "a sidecar stays",
	  "'containers': [" ASKS("1", "") "], 'initContainers': [" ASKS(
	      "2", STAYS) "]",
	  3000 },
	{ "and runs beside later ones",
	  "'containers': [" ASKS("1", "") "], 'initContainers': [" ASKS(
	      "2", STAYS) ", " ASKS("4", "") "]",
	  6000 },
	{ "said for the whole pod, it wins",
	  "'resources': {'requests': {'cpu': '7'}}, 'containers': [" ASKS(
	      "1", "") "]",
	  7000 },
	{ "overhead comes on top",
	  "'overhead': {'cpu': '250m'}, 'containers': [" ASKS("1", "") "]",
	  1250 },
};

static json_t *parse(const char *text)
{
	char *copy = xstrdup(text);
	json_error_t why;
	json_t *obj;

	for (char *s = copy; *s; s++)
		if (*s == '\'')
			*s = '"';
	obj = json_loads(copy, 0, &why);
	ck_assert_msg(obj != NULL, "%s: %s", why.text, copy);
	free(copy);
	return obj;
}

static struct kube_pod read_pod(const char *text)
{
	json_t *obj = parse(text);
	struct kube_pod pod;
	struct err err;

	ck_assert_int_eq(kube_pod_read(obj, &pool, &pod, &err), 0);
	json_decref(obj);
	return pod;
}

START_TEST(pod_uses)
{
	char *text = xasprintf("{'metadata': {'name': 'p', 'uid': 'u'}, "
	                       "'spec': {%s}}",
	                       uses[_i].spec);
	struct kube_pod pod = read_pod(text);

	ck_assert_int_eq(pod.use.pods, 1);
	ck_assert_msg(pod.use.cpu_milli == uses[_i].cpu, "%s: %lld",
	              uses[_i].name, (long long)pod.use.cpu_milli);
	kube_pod_fini(&pod);
	free(text);
}
END_TEST

START_TEST(pod_knows_how_often_its_index_has_failed)
{
	struct kube_pod pod =
	    read_pod("{'metadata': {'name': 'p', 'uid': 'u', 'annotations': {"
	             "'batch.kubernetes.io/job-index-failure-count': '2'}}}");

	ck_assert_int_eq(pod.fails, 2);
	kube_pod_fini(&pod);
	pod = read_pod("{'metadata': {'name': 'p', 'uid': 'u'}}");
	ck_assert_int_eq(pod.fails, 0);
	kube_pod_fini(&pod);
}
END_TEST

#define ENDED(code, reason)                                                 \
	"'containerStatuses': [{'state': {'terminated': {'exitCode': " code \
	", 'reason': '" reason "', 'startedAt': '1970-01-01T00:01:00Z', "   \
	"'finishedAt': '1970-01-01T00:02:00Z'}}}]"

static const struct {
	const char *name, *status;
	int exit_code;
	bool over, oom, lost;
} ends[] = {
	{ "it runs", "'phase': 'Running'", 0, false, false, false },
	{ "well", "'phase': 'Succeeded', " ENDED("0", "Completed"), 0, true,
	  false, false },
	{ "badly", "'phase': 'Failed', " ENDED("7", "Error"), 7, true, false,
	  false },
	{ "for memory, although the script did not mind",
	  "'phase': 'Succeeded', " ENDED("0", "OOMKilled"), 0, true, true,
	  false },
	{ "evicted", "'phase': 'Failed', 'reason': 'Evicted'", 0, true, false,
	  true },
	{ "evicted, as its node has no disk left",
	  "'phase': 'Failed', 'reason': 'Evicted', 'message': 'The node was "
	  "low on resource: ephemeral-storage. Threshold quantity: 1, '",
	  0, true, false, true },
	{ "for its disk",
	  "'phase': 'Failed', 'reason': 'Evicted', 'message': 'Pod ephemeral "
	  "local storage usage exceeds the total limit of containers 10Mi. '",
	  0, true, false, false },
	{ "for the disk of a container",
	  "'phase': 'Failed', 'reason': 'Evicted', 'message': 'Container job "
	  "exceeded its local ephemeral storage limit 10Mi. ', " ENDED("137",
	                                                               "Error"),
	  137, true, false, false },
	{ "as we told it",
	  "'phase': 'Failed', 'reason': 'DeadlineExceeded', " ENDED("143",
	                                                            "Error"),
	  143, true, false, false },
	{ "not taken", "'phase': 'Failed', 'reason': 'OutOfcpu'", 0, true,
	  false, true },
};

START_TEST(pod_ends)
{
	char *text = xasprintf("{'metadata': {'name': 'p', 'uid': 'u'}, "
	                       "'status': {%s}}",
	                       ends[_i].status);
	struct kube_pod pod = read_pod(text);

	ck_assert_int_eq(pod.exit_code, ends[_i].exit_code);
	ck_assert_int_eq(kube_pod_is_over(&pod), ends[_i].over);
	ck_assert_int_eq(pod.oom, ends[_i].oom);
	ck_assert_int_eq(kube_pod_is_lost(&pod), ends[_i].lost);
	if (pod.ended)
		ck_assert_int_eq(pod.end - pod.start, 60);
	kube_pod_fini(&pod);
	free(text);
}
END_TEST

static const struct {
	const char *status;
	bool refused;
} refusals[] = {
	{ "'phase': 'Failed', 'reason': 'TopologyAffinityError'", true },
	{ "'phase': 'Failed', 'reason': 'UnexpectedAdmissionError'", true },
	{ "'phase': 'Failed', 'reason': 'SMTAlignmentError'", true },
	{ "'phase': 'Failed', 'reason': 'OutOfcpu'", true },
	{ "'phase': 'Failed', 'reason': 'OutOfnvidia.com/gpu'", true },
	{ "'phase': 'Failed', 'reason': 'NodeAffinity'", false },
	{ "'phase': 'Pending', 'reason': 'OutOfcpu'", false },
	{ "'phase': 'Failed', 'reason': 'OutOfcpu', " ENDED("1", "Error"),
	  false },
};

START_TEST(pod_is_refused)
{
	char *text = xasprintf("{'metadata': {'name': 'p', 'uid': 'u'}, "
	                       "'status': {%s}}",
	                       refusals[_i].status);
	struct kube_pod pod = read_pod(text);

	ck_assert_int_eq(kube_pod_is_refused(&pod), refusals[_i].refused);
	kube_pod_fini(&pod);
	free(text);
}
END_TEST

static const struct {
	const char *message, *unable;
	int64_t cpu_ms, peak_kib;
} words[] = {
	{ NULL, NULL, 0, 0 },
	{ "Traceback: aisched: used: 1 1", NULL, 0, 0 },
	{ "aisched: used: 1500000 2048\n", NULL, 1500, 2 },
	{ "aisched: used: 9 9\nself\naisched: used: 3000 ?\n", NULL, 3, 0 },
	{ "aisched: used: ? 4096\n", NULL, 0, 4 },
	{ "aisched: used: \n", NULL, 0, 0 },
	{ "aisched: used: 99999999999999999999 -5", NULL, 999999999999999, 0 },
	{ "aisched: unable: cannot open\nmore", "cannot open", 0, 0 },
};

START_TEST(last_words)
{
	struct kube_last last;

	kube_last_read(words[_i].message, &last);
	ck_assert_pstr_eq(last.unable, words[_i].unable);
	ck_assert_int_eq(last.cpu_ms, words[_i].cpu_ms);
	ck_assert_int_eq(last.peak_kib, words[_i].peak_kib);
	ck_assert_ptr_null(last.steps);
	free(last.unable);
}
END_TEST

/* Steps in a container's termination message are printed on terminals, so
 * control characters and the like are removed. */
START_TEST(last_words_on_steps)
{
	struct kube_last last;

	kube_last_read(
	    "aisched: used: 1000 1024\n"
	    "aisched: step: {\"step\":0,\"name\":\"a\\u001b[2Jb\",\"tasks\":-1}\n"
	    "aisched: step: {\"job\":5}\n"
	    "aisched: step: {\"step\":0,\"job\":5,\"end\":9,\"why\":1}\n"
	    "aisched: step: nonsense\n",
	    &last);
	ck_assert_int_eq(last.cpu_ms, 1);
	ck_assert_ptr_nonnull(last.steps);
	ck_assert_ptr_null(strstr(last.steps, "\\u001b"));
	ck_assert_ptr_null(strstr(last.steps, "job"));
	ck_assert_ptr_nonnull(strstr(last.steps, "{\"step\":0,\"end\":9}\n"));
	ck_assert_int_eq(strncmp(last.steps, "{\"step\":0,\"name\":\"a", 19),
	                 0);
	free(last.steps);
}
END_TEST

START_TEST(a_script_that_runs_once_is_a_pod_for_each_node)
{
	static const char *const four[] = { "a", "a", "b", "b" };
	struct conf_pool with = pool;
	const struct kube_home there = { &with, "c",  "s",  600,
		                         false, NULL, "ns", 0 };
	struct err err;
	json_t *obj;
	char *own;

	spec.launch_script = 1;
	ck_assert_ptr_null(kube_object_job(&there, &job, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "pod_agent_image"));
	with.pod_agent_image = "agent:1";
	job.node_name = four;
	job.ntasks = req.tasks = 4;
	obj = kube_object_job(&there, &job, &err);
	ck_assert_msg(obj != NULL, "%s", err.text);
	ck_assert_str_eq(
	    kube_text_at(json_object_get(json_object_get(obj, "metadata"),
	                                 "annotations"),
	                 "aisched.io/tasks"),
	    "2");
	json_decref(obj);
	obj = kube_object_secret(&there, &job, 1000, &own);
	ck_assert_ptr_nonnull(at(obj, "data.pod"));
	ck_assert_ptr_null(at(obj, "data.meet"));
	json_decref(obj);
	free(own);
	job.ntasks = 3;
	ck_assert_ptr_null(kube_object_job(&there, &job, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "--tasks-per-node"));
}
END_TEST

/* --- stand-ins for nodes -------------------------------------------------- */

START_TEST(stand_ins_have_the_shape_of_nodes)
{
	const char *labels[] = { "a/b=c", "d" }, *taints[] = { "e/f=g", "h" };
	const struct conf_scale conf = { .name = "burst",
		                         .gpus = 8,
		                         .delay = 300,
		                         .labels = { 2, labels },
		                         .taints = { 2, taints },
		                         .priority_class = "low" };
	struct run_standin what = { .conf = &conf,
		                    .cpu_milli = 1500,
		                    .mem_mib = 1024 };
	json_t *obj = kube_standin_job(&home, &what), *other;
	struct kube_amount size = kube_standin_size(obj, &pool);
	struct kube_home others = home;
	struct kube_owner owner;

	ck_assert_str_eq(at(obj, "metadata.name"),
	                 "aj-my-cluster-standin-burst");
	ck_assert_int_eq(size.cpu_milli, 1500);
	ck_assert_int_eq(size.mem_mib, 1024);
	ck_assert_int_eq(size.gpus, 8);
	ck_assert_str_eq(at(obj, "spec.template.spec.schedulerName"),
	                 "aisched");
	ck_assert_str_eq(at(obj, "spec.template.spec.priorityClassName"),
	                 "low");
	ck_assert(!kube_object_is_ours(obj, &home, &owner));
	ck_assert_str_eq(kube_standin_is(obj, &home), "burst");
	others.store = "store2";
	ck_assert_str_eq(kube_standin_is(obj, &others), "");
	other = made();
	ck_assert_ptr_null(kube_standin_is(other, &home));
	json_decref(other);
	what.mem_mib++;
	other = kube_standin_job(&home, &what);
	ck_assert(!json_equal(obj, other));
	json_decref(other);
	json_decref(obj);
}
END_TEST

SUITE(kube_object)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, names_are_those_of_hosts);
	tcase_add_test(tc, says_whose_it_is);
	tcase_add_test(tc, a_service_leads_to_its_ports);
	tcase_add_test(tc,
	               a_policy_admits_its_own_pods_and_others_to_its_ports);
	tcase_add_test(tc, pods_that_fail_are_replaced_if_it_asks);
	tcase_add_test(tc, pods_that_are_lost_are_no_failures);
	tcase_add_test(tc, silent_nodes_are_given_up_by_us_first);
	tcase_add_test(tc, asks_for_what_the_job_asks_for);
	tcase_add_test(tc, a_gang_asks_for_other_devices_by_class);
	tcase_add_test(tc, one_pod_names_the_claim_for_other_devices);
	tcase_add_test(tc, a_pod_of_several_tasks_asks_for_the_devices_of_all);
	tcase_add_test(tc, runs_as_who_submitted_it);
	tcase_add_test(tc, has_folders_of_its_own);
	tcase_add_loop_test(tc, cpus_are_asked_for_as_the_pool_says, 0,
	                    ARRAY_SIZE(cpus));
	tcase_add_test(tc, what_fits_with_overcommit_fits_the_kubelet);
	tcase_add_test(tc, has_what_the_pool_gives_all);
	tcase_add_loop_test(tc, what_is_allowed, 0, ARRAY_SIZE(asked));
	tcase_add_loop_test(tc, links_below_an_allowed_folder_stay_in_it, 0,
	                    ARRAY_SIZE(links));
	tcase_add_test(tc, has_no_more_rights_than_it_needs);
	tcase_add_test(tc, root_keeps_the_rights_of_a_container);
	tcase_add_test(tc, arguments_are_what_was_said);
	tcase_add_test(tc, without_image);
	tcase_add_test(tc, secret_is_text);
	tcase_add_test(tc, init_has_its_trap_first);
	tcase_add_test(tc, a_pod_knows_which_start_of_its_job_it_is);
	tcase_add_test(tc, each_pod_of_a_gang_is_a_node);
	tcase_add_test(tc, a_pod_knows_its_node_from_the_kubelet);
	tcase_add_test(tc, tasks_of_an_array_share_a_secret);
	tcase_add_test(tc, secrets_of_others_are_not_shared);
	tcase_add_loop_test(tc, pod_uses, 0, ARRAY_SIZE(uses));
	tcase_add_test(tc, pod_knows_how_often_its_index_has_failed);
	tcase_add_loop_test(tc, pod_ends, 0, ARRAY_SIZE(ends));
	tcase_add_loop_test(tc, pod_is_refused, 0, ARRAY_SIZE(refusals));
	tcase_add_loop_test(tc, last_words, 0, ARRAY_SIZE(words));
	tcase_add_test(tc, last_words_on_steps);
	tcase_add_test(tc, a_script_that_runs_once_is_a_pod_for_each_node);
	tcase_add_test(tc, stand_ins_have_the_shape_of_nodes);
}
