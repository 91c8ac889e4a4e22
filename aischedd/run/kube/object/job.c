/* job.c - make the Job object of an attempt */
#include "aischedd/run/kube/object/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aischedd/run/kube/object/agent.h"
#include "aischedd/run/kube/object/grant.h"
#include "aischedd/run/kube/object/init.h"
#include "aischedd/run/kube/object/mount.h"
#include "aischedd/run/kube/object/output.h"
#include "aischedd/run/kube/object/partition.h"
#include "aischedd/run/kube/object/pod.h"
#include "libcommon/labels.h"
#include "libcommon/mem.h"

/* The name by which a pod's containers refer to its ResourceClaim. */
#define CLAIM "gpus"

enum {
	/* the cluster deletes pods of a silent node this much later than we
	 * do */
	LATER_S = 60,
	MODE_RX = 0555
};

/* Returns the extended resource by which a container requests GPUs or a
 * partition, on the heap. */
static char *gpu_resource(const struct kube_home *home,
                          const struct run_job *job)
{
	uint8_t profile = mig_find(job->spec->gpu_type);
	char part[KUBE_PARTITION_SIZE];

	if (home->by_claims)
		return kube_grant_resource(
		    kube_grant_class(home->pool, profile));
	if (!profile)
		return xstrdup(home->pool->gpu_resource);
	kube_partition_name(profile, part);
	return xstrdup(part);
}

/* Whether a pod of the job gets devices by a ResourceClaim. */
static bool has_claim(const struct kube_home *home, const struct run_job *job)
{
	return (home->by_claims && job->req->gpus_milli) ||
	       kube_devs_by_claims(home->pool, job->spec->device);
}

/* Whether the template of the Job names the claim. The pods of gangs request
 * extended resources instead. */
static bool names_claim(const struct kube_home *home, const struct run_job *job)
{
	return has_claim(home, job) && !kube_object_is_gang(job);
}

static void add_resource(json_t *resources, const char *name, int64_t n)
{
	static const char *const maps[] = { "requests", "limits" };

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		kube_object_number(json_object_get(resources, maps[i]), name,
		                   (uint64_t)n);
}

static void del_resource(json_t *resources, const char *name)
{
	json_object_del(json_object_get(resources, "requests"), name);
	json_object_del(json_object_get(resources, "limits"), name);
}

/* Request the GPUs of a pod, unless the template names their claim. */
static void add_gpus(const struct kube_home *home, const struct run_job *job,
                     json_t *resources)
{
	char *name;

	if (!job->req->gpus_milli ||
	    (home->by_claims && !kube_object_is_gang(job)))
		return;
	name = gpu_resource(home, job);
	add_resource(resources, name, (job->req->gpus_milli + 999) / 1000);
	free(name);
}

/* Request the other devices, unless the template names their claim. */
static void add_devices(const struct kube_home *home, const struct run_job *job,
                        json_t *resources)
{
	const struct conf_pool *pool = home->pool;
	int64_t n[DEVICE_KINDS];

	kube_devs_asked(pool, job->spec->device, n);
	for (size_t i = 0; i < pool->nkinds; i++) {
		int64_t each = n[i] * (home->pod_tasks ? home->pod_tasks : 1);
		char *name;

		if (n[i] && pool->kinds[i].resource)
			add_resource(resources, pool->kinds[i].resource, each);
		if (!n[i] || !pool->kinds[i].class || !kube_object_is_gang(job))
			continue;
		name = kube_grant_resource(pool->kinds[i].class);
		add_resource(resources, name, each);
		free(name);
	}
}

static json_t *resources_of(const struct kube_home *home,
                            const struct run_job *job)
{
	json_t *list = json_object(), *limits, *resources;
	int64_t cpus = job->req->cpus_milli;
	char text[32];

	kube_object_amounts(list, cpus, job->req->mem_mib, job->req->tmp_mib);
	limits = json_copy(list);
	/* Without a request, a LimitRange could request more than planned. */
	if (!job->req->tmp_mib)
		json_object_set_new(list, "ephemeral-storage",
		                    json_string("0"));
	if (job->spec->mem_node == 0)
		/* see kube_object_job_limit() */
		json_object_del(limits, "memory");
	if (home->pool->cpus_unlimited)
		json_object_del(limits, "cpu");
	snprintf(text, sizeof(text), "%" PRId64 "m",
	         kube_cpus_less(home->pool, cpus));
	json_object_set_new(list, "cpu", json_string(text));
	resources = json_pack("{s:o, s:o}", "requests", list, "limits", limits);
	add_gpus(home, job, resources);
	add_devices(home, job, resources);
	if (names_claim(home, job))
		json_object_set_new(resources, "claims",
		                    json_pack("[{s:s}]", "name", CLAIM));
	return resources;
}

static json_t *args_of(const struct run_job *job)
{
	json_t *args =
	    job->spec->args ? json_loads(job->spec->args, 0, NULL) : NULL;
	json_t *list = json_array(), *arg;
	size_t i;

	json_array_foreach(args, i, arg)
		json_array_append_new(
		    list, kube_object_literal(json_string_value(arg)));
	json_decref(args);
	return list;
}

/* Returns the securityContext of a container: the restricted profile of the Pod
 * Security Standards. Only root keeps its capabilities: it needs them to write
 * to files of other users. */
static json_t *security_of(const struct run_job *job)
{
	json_t *security =
	    json_pack("{s:b}", "allowPrivilegeEscalation", false);

	if (job->uid != 0)
		json_object_update_new(
		    security, json_pack("{s:{s:[s]}, s:{s:s}}", "capabilities",
		                        "drop", "ALL", "seccompProfile", "type",
		                        "RuntimeDefault"));
	return security;
}

static json_t *container_of(const struct kube_home *home,
                            const struct run_job *job, const char *image,
                            const char *workdir, json_t *mounts)
{
	return json_pack(
	    "{s:s, s:s, s:s, s:[s, s], s:o, s:s, s:o, s:O, s:o, s:s,"
	    " s:[{s:s, s:{s:{s:s}}}]}",
	    "name", "main", "image", image, "imagePullPolicy", "IfNotPresent",
	    "command", "/bin/sh", KUBE_JOB_DIR "/init", "args", args_of(job),
	    "workingDir", workdir, "resources", resources_of(home, job),
	    "volumeMounts", mounts, "securityContext", security_of(job),
	    "terminationMessagePolicy", "File", "env", "name", KUBE_NODE_VAR,
	    "valueFrom", "fieldRef", "fieldPath", "spec.nodeName");
}

/* Returns tolerations for silent nodes. Without them the cluster would delete
 * the pods of such a node after 5 minutes. The daemon decides about silent
 * nodes, after node_timeout; the cluster acts only later, in case no daemon
 * runs. */
static json_t *tolerations(const struct kube_home *home)
{
	static const char *const keys[] = { "node.kubernetes.io/not-ready",
		                            "node.kubernetes.io/unreachable" };
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_array_append_new(
		    list, json_pack("{s:s, s:s, s:s, s:I}", "key", keys[i],
		                    "operator", "Exists", "effect", "NoExecute",
		                    "tolerationSeconds",
		                    (json_int_t)home->node_timeout + LATER_S));
	return list;
}

static json_t *pull_secrets(const struct conf_pool *pool)
{
	json_t *list = json_array();

	for (size_t i = 0; i < pool->image_pull_secrets.n; i++)
		json_array_append_new(
		    list,
		    json_pack("{s:s}", "name", pool->image_pull_secrets.s[i]));
	return list;
}

/* Remove what claims give from the init container, which only copies the agent:
 * it is for the main container. */
static void take_claim(const struct kube_home *home, const struct run_job *job,
                       json_t *container)
{
	const struct conf_pool *pool = home->pool;
	json_t *resources =
	    json_deep_copy(json_object_get(container, "resources"));
	char *name = home->by_claims ? gpu_resource(home, job) : NULL;

	json_object_del(resources, "claims");
	if (name)
		del_resource(resources, name);
	free(name);
	for (size_t i = 0; i < pool->nkinds; i++) {
		if (!pool->kinds[i].class)
			continue;
		name = kube_grant_resource(pool->kinds[i].class);
		del_resource(resources, name);
		free(name);
	}
	json_object_set_new(container, "resources", resources);
}

/* Make the agent the first process of the main container; the agent runs the
 * shell that is the first process in other jobs. */
static void add_agent(const struct kube_home *home, const struct run_job *job,
                      json_t *spec, struct kube_volumes *v)
{
	json_t *main = json_array_get(json_object_get(spec, "containers"), 0);

	json_object_set_new(main, "command",
	                    json_pack("[s, s, s, s]",
	                              KUBE_AGENT_DIR "/aisched-pod", "run",
	                              "/bin/sh", KUBE_JOB_DIR "/init"));
	kube_agent_install(spec, main, v, home->pool->pod_agent_image);
	if (has_claim(home, job))
		take_claim(
		    home, job,
		    json_array_get(json_object_get(spec, "initContainers"), 0));
}

static json_t *claims_of(const struct kube_home *home, const char *job)
{
	char name[KUBE_GRANT_SIZE];

	kube_grant_name(name, job, 0);
	return json_pack("[{s:s, s:s}]", "name", CLAIM, "resourceClaimName",
	                 home->claim ? home->claim : name);
}

static json_t *pod_spec(const struct kube_home *home, const struct run_job *job,
                        const char *image, struct kube_volumes *v)
{
	const char *workdir = kube_volumes_workdir(v, job->spec->workdir);
	const char *account = home->pool->service_account;
	char name[KUBE_NAME_SIZE];
	json_t *spec;

	kube_object_name(name, home->cluster, job->job, job->attempt);
	kube_volumes_add(
	    v, KUBE_JOB_DIR, "secret",
	    json_pack("{s:s, s:i}", "secretName", name, "defaultMode", MODE_RX),
	    true);
	kube_volumes_add(v, "/dev/shm", "emptyDir",
	                 json_pack("{s:s}", "medium", "Memory"), false);
	spec = json_pack(
	    "{s:s, s:s, s:I, s:b, s:b, s:o, s:o, s:[o], s:O,"
	    " s:{s:I, s:I, s:I, s:b}}",
	    "schedulerName", "aisched", "restartPolicy", "Never",
	    "terminationGracePeriodSeconds", (json_int_t)job->grace,
	    "enableServiceLinks", false, "automountServiceAccountToken",
	    account != NULL, "tolerations", tolerations(home),
	    "imagePullSecrets", pull_secrets(home->pool), "containers",
	    container_of(home, job, image, workdir, v->mounts), "volumes",
	    v->volumes, "securityContext", "runAsUser", (json_int_t)job->uid,
	    "runAsGroup", (json_int_t)job->gid, "fsGroup", (json_int_t)job->gid,
	    "runAsNonRoot", job->uid != 0);
	if (names_claim(home, job))
		json_object_set_new(spec, "resourceClaims",
		                    claims_of(home, name));
	if (kube_agent_is(home, job))
		add_agent(home, job, spec, v);
	if (kube_object_is_gang(job))
		json_object_set_new(spec, "subdomain", json_string(name));
	if (home->pool->priority_class)
		json_object_set_new(spec, "priorityClassName",
		                    json_string(home->pool->priority_class));
	if (account)
		json_object_set_new(spec, "serviceAccountName",
		                    json_string(account));
	return spec;
}

static int check_job(const struct kube_home *home, const struct run_job *job,
                     const char *image, struct err *err)
{
	const char *pool = home->pool->name;

	if (!image || !*image)
		return err_set(err, EINVAL,
		               "no image: name one with --image, or for all "
		               "jobs in pool '%s'",
		               pool);
	if (job->uid == 0 && !home->pool->run_as_root)
		return err_set(err, EINVAL,
		               "pool '%s' does not run jobs of root (its "
		               "run_as_root)",
		               pool);
	if (job->spec->launch_script == 1 && job->ntasks > 1 &&
	    !kube_agent_is(home, job))
		return err_set(err, EINVAL,
		               "--launch script with several tasks: pool '%s' "
		               "has no pod_agent_image, so each would be a "
		               "pod that runs the script",
		               pool);
	return 0;
}

uint32_t kube_object_job_replace(const struct spec *spec)
{
	return spec_task_failure(spec) == FAILURE_REPLACES
	           ? (uint32_t)spec_max_restarts(spec)
	           : 0;
}

struct spec_loss kube_object_job_loss(const struct kube_home *home,
                                      const struct run_job *job)
{
	struct spec_loss loss = spec_loss(job->spec);

	/* The template of a Job of one pod names its ResourceClaim. */
	if (names_claim(home, job))
		return (struct spec_loss){ 0, 0 };
	return loss;
}

/* If the job goes on without lost tasks: have the Job controller make another
 * pod for the index of a lost one, without counting that as a failure. */
static void add_loss(const struct kube_home *home, const struct run_job *job,
                     json_t *obj)
{
	struct spec_loss loss = kube_object_job_loss(home, job);
	json_t *notes =
	    json_object_get(json_object_get(obj, "metadata"), "annotations");

	if (!loss.least)
		return;
	kube_object_number(notes, KUBE_NOTE_LEAST, loss.least);
	kube_object_number(notes, KUBE_NOTE_WHOLE, loss.whole);
	json_object_set_new(json_object_get(obj, "spec"), "podFailurePolicy",
	                    json_pack("{s:[{s:s, s:[{s:s, s:s}]}]}", "rules",
	                              "action", "Ignore", "onPodConditions",
	                              "type", KUBE_DISRUPTED, "status",
	                              "True"));
}

/* Returns the labels of the Job's pods. Labels chosen by the user get a prefix,
 * so that no Service of others selects these pods. */
static json_t *pod_labels(const struct kube_home *home,
                          const struct run_job *job)
{
	json_t *labels = kube_object_labels(home, job);
	const char *at = job->spec->labels;
	struct label l;

	while (labels_next(&at, &l)) {
		char key[sizeof(KUBE_LABEL_USER) + LABEL_PART_MAX];

		snprintf(key, sizeof(key), "%s%.*s", KUBE_LABEL_USER,
		         (int)l.key_len, l.key);
		json_object_set_new(labels, key,
		                    json_stringn(l.value, l.value_len));
	}
	return labels;
}

static json_t *make_job(const struct kube_home *home, const struct run_job *job,
                        struct err *err)
{
	const char *image =
	    job->spec->image ? job->spec->image : home->pool->image;
	struct kube_volumes v = { 0 };
	json_t *obj = NULL, *notes, *pod_notes;

	if (check_job(home, job, image, err) < 0)
		return NULL;
	v.volumes = json_array();
	v.mounts = json_array();
	if (kube_volumes_mount(&v, home->pool, job->spec->mount, err) < 0)
		goto out;
	obj = kube_object_new(home, job, "batch/v1", "Job");
	notes =
	    json_object_get(json_object_get(obj, "metadata"), "annotations");
	kube_object_number(notes, KUBE_NOTE_TASKS, job->ntasks);
	if (kube_agent_is(home, job))
		json_object_set_new(notes, KUBE_NOTE_ONCE, json_string("true"));
	pod_notes = kube_object_notes(home, job);
	/* keep autoscalers from emptying the node */
	json_object_set_new(pod_notes,
	                    "cluster-autoscaler.kubernetes.io/safe-to-evict",
	                    json_string("false"));
	json_object_set_new(pod_notes, "karpenter.sh/do-not-disrupt",
	                    json_string("true"));
	if (kube_output_all_files(job))
		json_object_set_new(pod_notes, KUBE_NOTE_FILES,
		                    json_string("true"));
	/* With backoffLimitPerIndex the Job controller replaces failed pods,
	 * but does not end the other pods: that is left to the daemon. */
	json_object_set_new(
	    obj, "spec",
	    json_pack("{s:s, s:i, s:i, s:i, s:s, s:{s:{s:o, s:o}, s:o}}",
	              "completionMode", "Indexed", "parallelism",
	              (int)job->ntasks, "completions", (int)job->ntasks,
	              "backoffLimitPerIndex",
	              (int)kube_object_job_replace(job->spec),
	              "podReplacementPolicy", "Failed", "template", "metadata",
	              "labels", pod_labels(home, job), "annotations", pod_notes,
	              "spec", pod_spec(home, job, image, &v)));
	add_loss(home, job, obj);
out:
	json_decref(v.volumes);
	json_decref(v.mounts);
	return obj;
}

json_t *kube_object_job(const struct kube_home *home, const struct run_job *job,
                        struct err *err)
{
	struct kube_home its = *home;
	struct kube_agent_pods pods;
	json_t *obj = NULL;

	if (!kube_agent_is(home, job))
		return make_job(home, job, err);
	if (kube_agent_pods(job, &pods, err) == 0) {
		its.pod_tasks = pods.tasks;
		obj = make_job(&its, &pods.job, err);
	}
	kube_agent_pods_free(&pods);
	return obj;
}

void kube_object_job_limit(json_t *obj, int64_t mem_mib)
{
	const json_t *pod = json_object_get(
	    json_object_get(json_object_get(obj, "spec"), "template"), "spec");
	const json_t *main =
	    json_array_get(json_object_get(pod, "containers"), 0);
	json_t *limits =
	    json_object_get(json_object_get(main, "resources"), "limits");
	char text[32];

	if (mem_mib <= 0)
		return;
	snprintf(text, sizeof(text), "%" PRId64 "Mi", mem_mib);
	json_object_set_new(limits, "memory", json_string(text));
}
