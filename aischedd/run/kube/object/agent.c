/* agent.c - jobs whose script runs once, in the first pod, and starts steps */
#include "aischedd/run/kube/object/agent.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "libcommon/mem.h"

enum { KEY_BYTES = 32 };

bool kube_agent_is(const struct kube_home *home, const struct run_job *job)
{
	return home->pool->pod_agent_image && *home->pool->pod_agent_image &&
	       job->spec->launch_script == 1;
}

/* --- merge tasks into pods ------------------------------------------------ */

static uint32_t distinct_nodes(const struct run_job *job, const char **node,
                               uint32_t *tasks)
{
	uint32_t n = 0, k;

	for (uint32_t i = 0; i < job->ntasks; i++) {
		for (k = 0; k < n; k++)
			if (!strcmp(node[k], job->node_name[i]))
				break;
		if (k == n)
			node[n++] = job->node_name[i];
		tasks[k]++;
	}
	return n;
}

static struct snap_task *join_gpus(const struct run_job *job,
                                   const char *const *node, uint32_t n)
{
	struct snap_task *task = xcalloc(n + 1, sizeof(*task));

	for (uint32_t i = 0; job->task && i < job->ntasks; i++)
		for (uint32_t k = 0; k < n; k++)
			if (!strcmp(node[k], job->node_name[i])) {
				task[k].gpus |= job->task[i].gpus;
				task[k].gpu_milli = job->task[i].gpu_milli;
			}
	return task;
}

static uint64_t *join_devs(const struct run_job *job, const char *const *node,
                           uint32_t n)
{
	uint64_t *devs = xcalloc(n + 1, sizeof(*devs));

	for (uint32_t i = 0; i < job->ntasks; i++)
		for (uint32_t k = 0; k < n; k++)
			if (!strcmp(node[k], job->node_name[i]))
				devs[k] |= run_job_devs(job, i);
	return devs;
}

int kube_agent_pods(const struct run_job *job, struct kube_agent_pods *ret,
                    struct err *err)
{
	uint32_t *tasks = xcalloc(job->ntasks + 1, sizeof(*tasks)), n;
	int rc = 0;

	*ret = (struct kube_agent_pods){ .job = *job, .req = *job->req };
	ret->node = xcalloc(job->ntasks + 1, sizeof(*ret->node));
	n = distinct_nodes(job, ret->node, tasks);
	ret->tasks = tasks[0];
	for (uint32_t i = 1; i < n && rc == 0; i++)
		if (tasks[i] != tasks[0])
			rc = err_set(
			    err, EINVAL,
			    "%" PRIu32 " tasks on node '%s' and %" PRIu32
			    " on node '%s': the pods of a job ask for "
			    "the same, so use --nodes and "
			    "--tasks-per-node",
			    tasks[0], ret->node[0], tasks[i], ret->node[i]);
	free(tasks);
	if (rc == 0 && ret->tasks > 1 && job->req->gpus_milli % 1000)
		rc = err_set(err, EINVAL,
		             "%" PRIu32 " tasks with a part of a GPU each on "
		             "node '%s': they share a pod, which gets one part "
		             "only; use --tasks-per-node 1 or --launch tasks",
		             ret->tasks, ret->node[0]);
	ret->task = join_gpus(job, ret->node, n);
	ret->job.task = ret->task;
	ret->job.devs = ret->devs = join_devs(job, ret->node, n);
	ret->job.ntasks = n;
	ret->job.node_name = ret->node;
	ret->job.req = &ret->req;
	ret->req.tasks = ret->req.min_tasks = n;
	ret->req.cpus_milli *= ret->tasks;
	ret->req.mem_mib *= ret->tasks;
	ret->req.tmp_mib *= ret->tasks;
	ret->req.gpus_milli *= ret->tasks;
	return rc;
}

void kube_agent_pods_free(struct kube_agent_pods *pods)
{
	free(pods->node);
	free(pods->task);
	free(pods->devs);
	pods->node = NULL;
	pods->task = NULL;
	pods->devs = NULL;
}

/* --- install the agent's program ------------------------------------------ */

static json_t *installer(const json_t *container, const char *image,
                         const char *volume)
{
	return json_pack(
	    "{s:s, s:s, s:s, s:[s, s, s], s:O, s:O, s:[{s:s,"
	    " s:s}]}",
	    "name", "aisched-pod", "image", image, "imagePullPolicy",
	    "IfNotPresent", "command", KUBE_AGENT_FILE, "install",
	    KUBE_AGENT_DIR, "resources",
	    json_object_get(container, "resources"), "securityContext",
	    json_object_get(container, "securityContext"), "volumeMounts",
	    "name", volume, "mountPath", KUBE_AGENT_DIR);
}

void kube_agent_install(json_t *pod, const json_t *container,
                        struct kube_volumes *v, const char *image)
{
	char name[16];

	/* kube_volumes_add() below gives the volume this name. */
	snprintf(name, sizeof(name), "v%u", v->n);
	kube_volumes_add(v, KUBE_AGENT_DIR, "emptyDir", json_object(), true);
	json_object_set_new(
	    pod, "initContainers",
	    json_pack("[o]", installer(container, image, name)));
}

/* --- environment of the script, file of the agents ------------------------ */

/* Write the host name of a pod, "name-0". If the job has several pods, the name
 * is qualified, "name-0.name", so that the other pods can resolve it.
 * pod_job_node() in pod/job.c makes the same name. */
static void node_name(char ret[2 * KUBE_NAME_SIZE + 16], const char *name,
                      uint32_t pod, uint32_t pods)
{
	snprintf(ret, 2 * KUBE_NAME_SIZE + 16, "%s-%" PRIu32 "%s%s", name, pod,
	         pods > 1 ? "." : "", pods > 1 ? name : "");
}

/* Append the host names of all pods as a list: "name-[0-3].name". */
static void node_list(struct buf *out, const char *name, uint32_t pods)
{
	if (pods > 1)
		buf_printf(out, "%s-[0-%" PRIu32 "].%s", name, pods - 1, name);
	else
		buf_printf(out, "%s-0", name);
}

/* Returns the CPUs of a pod, rounded up to whole ones, at least one per
 * task. */
static int64_t cpus_of(const struct kube_agent_pods *pods)
{
	int64_t whole = (pods->req.cpus_milli + 999) / 1000;

	return whole < pods->tasks ? pods->tasks : whole;
}

/* Returns for how many tasks in each pod the job's steps are meant. */
static int64_t tasks_in_pod(const struct kube_agent_pods *pods)
{
	int64_t shared = pods->job.spec->shared_tasks, n = pods->job.ntasks;

	shared = shared > 0 && n ? (shared + n - 1) / n : 0;
	return shared > pods->tasks ? shared : pods->tasks;
}

void kube_agent_env(struct buf *out, const struct kube_home *home,
                    const struct run_job *job)
{
	char name[KUBE_NAME_SIZE], first[2 * KUBE_NAME_SIZE + 16];
	struct kube_agent_pods pods;
	struct buf list = { 0 };
	struct err err;
	uint32_t n;

	if (kube_agent_pods(job, &pods, &err) < 0)
		errno = 0; /* ignore: kube_object_job() reports it */
	n = pods.job.ntasks;
	kube_object_name(name, home->cluster, job->job, job->attempt);
	node_name(first, name, 0, n);
	node_list(&list, name, n);
	kube_object_export(out, "JOB_NODELIST", list.data);
	kube_object_export(out, "NODELIST", list.data);
	kube_object_export_n(out, "JOB_NUM_NODES", n);
	kube_object_export_n(out, "NNODES", n);
	kube_object_export_each(out, "TASKS_PER_NODE", tasks_in_pod(&pods), n);
	kube_object_export_each(out, "JOB_CPUS_PER_NODE", cpus_of(&pods), n);
	kube_object_export_n(out, "CPUS_ON_NODE", cpus_of(&pods));
	if (pods.req.gpus_milli)
		kube_object_export_n(out, "GPUS_ON_NODE",
		                     (pods.req.gpus_milli + 999) / 1000);
	kube_object_export_n(out, "PROCID", 0);
	kube_object_export_n(out, "NODEID", 0);
	kube_object_export_n(out, "LOCALID", 0);
	kube_object_export(out, "TOPOLOGY_ADDR", first);
	buf_printf(out, "export SLURMD_NODENAME='%s' AISCHEDD_NODENAME='%s'\n",
	           first, first);
	if (job->req->tasks > 1 || job->spec->shared_tasks > 1)
		buf_printf(out, "export MASTER_ADDR='%s'\n",
		           n > 1 ? first : "127.0.0.1");
	buf_puts(out, "export PATH=\"" KUBE_AGENT_DIR ":$PATH\"\n");
	buf_free(&list);
	kube_agent_pods_free(&pods);
}

static void new_key(char ret[2 * KEY_BYTES + 1])
{
	uint8_t key[KEY_BYTES];

	if (getentropy(key, sizeof(key)) < 0)
		assert(!"the kernel has random bytes");
	for (size_t i = 0; i < KEY_BYTES; i++)
		snprintf(ret + 2 * i, 3, "%02x", key[i]);
}

/* Tell the agents when to signal the steps, as --signal asks. If the script is
 * to be signalled, too, the shell that runs it signals the steps in its own
 * pod. */
static void add_signal(json_t *obj, const struct run_job *job)
{
	const struct spec *spec = job->spec;
	int64_t after = job->time_limit - spec->signal_before;

	if (spec->signal == SPEC_UNSET || job->time_limit == TIME_UNLIMITED ||
	    spec_signal_scope(spec) == SIGNAL_script)
		return;
	json_object_set_new(obj, "signal", json_integer(spec->signal));
	json_object_set_new(obj, "after", json_integer(after > 0 ? after : 0));
	json_object_set_new(
	    obj, "signal_first",
	    json_boolean(spec_signal_scope(spec) == SIGNAL_steps));
}

char *kube_agent_file(const struct kube_home *home, const struct run_job *job)
{
	char name[KUBE_NAME_SIZE], key[2 * KEY_BYTES + 1];
	struct kube_agent_pods pods;
	struct err err;
	json_t *obj;
	char *text;

	if (kube_agent_pods(job, &pods, &err) < 0)
		errno = 0; /* ignore: kube_object_job() reports it */
	kube_object_name(name, home->cluster, job->job, job->attempt);
	new_key(key);
	obj = json_pack(
	    "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s}", "job",
	    (json_int_t)job->job, "pods", (json_int_t)pods.job.ntasks, "tasks",
	    (json_int_t)pods.tasks, "cpus", (json_int_t)cpus_of(&pods), "mem",
	    (json_int_t)pods.req.mem_mib, "gpus",
	    (json_int_t)(pods.req.gpus_milli + 999) / 1000, "grace",
	    (json_int_t)job->grace, "name", name, "key", key);
	add_signal(obj, job);
	text = json_dumps(obj, JSON_COMPACT);
	json_decref(obj);
	kube_agent_pods_free(&pods);
	return text;
}
