/* secret.c - the Secret of a job: environment, script and first process of its
 * pods */
#include "aischedd/run/kube/object/secret.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/file.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/agent.h"
#include "aischedd/run/kube/object/init.h"
#include "aischedd/run/kube/object/output.h"
#include "aischedd/run/shepherd/env.h"
#include "aischedd/run/shepherd/record.h"
#include "libcommon/buf.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"

/*
 * Shell text that sets MASTER_ADDR, and waits until the tasks can find each
 * other. The kubelet puts the full name of a pod into the pod's /etc/hosts, so
 * rank 0 learns its own name without DNS, and the others learn the domain. DNS
 * gets all names at once, soon after the last pod runs. Programs of users may
 * not try again if a name is unknown, so the script waits for the names if the
 * image has getent.
 */
static const char meet_script[] =
    "aisched_zone= aisched_tries=20\n"
    "while read -r aisched_ip aisched_name aisched_rest; do\n"
    "\tcase $aisched_name in\n"
    "\t\"$aisched_host-$RANK.$aisched_host\".*)\n"
    "\t\taisched_zone=.${aisched_name#*.*.} ;;\n"
    "\tesac\n"
    "done </etc/hosts\n"
    "MASTER_ADDR=$MASTER_ADDR$aisched_zone\n"
    "aisched_name=$aisched_host-$((RANK == 0)).$aisched_host$aisched_zone\n"
    "[ \"$WORLD_SIZE\" -eq 1 ] || ! command -v getent ||\n"
    "until getent hosts \"$aisched_name\" ||\n"
    "\t[ $((aisched_tries -= 1)) -eq 0 ]; do\n"
    "\tsleep 1\n"
    "done\n";

static bool is_one_of(const char *var, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && !strncmp(*list, var, len))
			return true;
	return false;
}

/* Whether to leave out a variable of the submitter's environment: the image or
 * the runner sets it, or it is valid only in one process on the submitter's
 * machine. */
static bool is_local(const char *var, size_t len)
{
	static const char *const names[] = {
		/* Set by the image. */
		"HOME", "HOSTNAME", "LD_LIBRARY_PATH", "LD_PRELOAD", "OLDPWD",
		"PATH", "PWD", "SHELL", "SHLVL", "TMPDIR", "_",
		/* Set for each pod, below. */
		"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR",
		KUBE_NODE_VAR, NULL
	};
	static const char *const ours[] = { "GTIDS",  "JOB_GPUS", "LOCALID",
		                            "NODEID", "PROCID",   "TASK_PID",
		                            NULL };

	if (is_one_of(var, len, names))
		return true;
	if (len > 8 && !strncmp(var, "AISCHED_", 8))
		return is_one_of(var + 8, len - 8, ours);
	return len > 6 && !strncmp(var, "SLURM_", 6) &&
	       is_one_of(var + 6, len - 6, ours);
}

/* Whether `var` is a valid name of a shell variable. The environment may have
 * other names, too: some shells export functions in it. */
static bool is_name(const char *var, size_t len)
{
	if (!len || isdigit((unsigned char)*var))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)var[i]) && var[i] != '_')
			return false;
	return true;
}

static void add_export(struct buf *out, const char *var, size_t len)
{
	buf_puts(out, "export ");
	buf_add(out, var, len);
	buf_puts(out, "='");
	for (const char *s = var + len + 1; *s; s++)
		if (*s == '\'')
			buf_puts(out, "'\\''");
		else
			buf_addc(out, *s);
	buf_puts(out, "'\n");
}

/* Each pod is a node to its task, which has the CPUs and GPUs of this pod
 * only. */
static void add_counts(struct buf *out, const struct run_job *job)
{
	int64_t cpus = (job->req->cpus_milli + 999) / 1000;
	int64_t gpus = (job->req->gpus_milli + 999) / 1000;

	kube_object_export_n(out, "JOB_NUM_NODES", job->ntasks);
	kube_object_export_n(out, "NNODES", job->ntasks);
	kube_object_export_each(out, "TASKS_PER_NODE", 1, job->ntasks);
	kube_object_export_each(out, "JOB_CPUS_PER_NODE", cpus, job->ntasks);
	kube_object_export_n(out, "CPUS_ON_NODE", cpus);
	if (gpus)
		kube_object_export_n(out, "GPUS_ON_NODE", gpus);
}

static void add_ranks(struct buf *out, const struct kube_home *home,
                      const struct run_job *job)
{
	static const char *const ranks[] = { "AISCHED_PROCID", "SLURM_PROCID",
		                             "AISCHED_NODEID", "SLURM_NODEID" };
	static const char *const nodes[] = { KUBE_NODE_VAR, "SLURMD_NODENAME",
		                             "AISCHED_TOPOLOGY_ADDR",
		                             "SLURM_TOPOLOGY_ADDR" };
	char name[KUBE_NAME_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++)
		buf_printf(out, "export %s=\"$JOB_COMPLETION_INDEX\"\n",
		           ranks[i]);
	buf_puts(out, "export AISCHED_LOCALID=0 SLURM_LOCALID=0\n");
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
		buf_printf(out, "export %s=\"$" KUBE_NODE_VAR "\"\n", nodes[i]);
	if (!kube_object_is_gang(job))
		return;
	add_counts(out, job);
	kube_object_name(name, home->cluster, job->job, job->attempt);
	buf_printf(out,
	           "export RANK=\"$JOB_COMPLETION_INDEX\" LOCAL_RANK=0\n"
	           "export WORLD_SIZE=%" PRIu32 "\n"
	           "export MASTER_ADDR='%s-0.%s'\n"
	           "aisched_host='%s'\n",
	           job->ntasks, name, name, name);
}

/* Make the shell in the pod send the signal of --signal by itself, so that the
 * daemon need not call the API server for it. */
static void add_signal(struct buf *out, const struct run_job *job)
{
	const struct spec *spec = job->spec;
	int64_t after = job->time_limit - spec->signal_before;

	/* If only steps are to be signalled, their agents do that. */
	if (spec->signal == SPEC_UNSET || job->time_limit == TIME_UNLIMITED ||
	    spec_signal_scope(spec) == SIGNAL_steps)
		return;
	buf_printf(
	    out, "aisched_signal=%d aisched_after=%" PRId64 " aisched_to=%s\n",
	    (int)spec->signal, after > 0 ? after : 0,
	    spec->signal_batch == 1 ? "" : "-1");
}

/* Whether `var` ("NAME=VALUE") is in the environment that the user submitted,
 * which is the same for all tasks of an array. */
static bool is_users(const struct run_job *job, const char *var)
{
	const char *env = job->env, *end = env + job->env_len;

	for (; env < end; env += strlen(env) + 1)
		if (!strcmp(env, var))
			return true;
	return false;
}

/* Write the variables of the job's pods as shell text: to *common those that
 * are the same for all tasks of an array, to *own the others. */
static void env_file(struct buf *common, struct buf *own,
                     const struct kube_home *home, const struct run_job *job,
                     int64_t now)
{
	struct order order = { .job = *job };
	char name[KUBE_NAME_SIZE];
	struct env_of of = { .order = &order, .start = now, .run_id = name };
	struct arena *arena = arena_new();
	struct buf nodes = { 0 };

	for (uint32_t i = 0; i < job->ntasks; i++)
		buf_printf(&nodes, "%s%s", i ? "," : "", job->node_name[i]);
	order.host = nodes.data;
	kube_object_name(name, home->cluster, job->job, job->attempt);
	for (char **var = env_build(&of, arena); *var; var++) {
		const char *eq = strchr(*var, '=');
		size_t len = eq ? (size_t)(eq - *var) : 0;

		if (is_name(*var, len) && !is_local(*var, len))
			add_export(is_users(job, *var) ? common : own, *var,
			           len);
	}
	if (kube_agent_is(home, job))
		kube_agent_env(own, home, job);
	else
		add_ranks(own, home, job);
	add_signal(own, job);
	kube_output_env(own, job, now);
	if (job->spec->umask != SPEC_UNSET)
		buf_printf(own, "umask 0%03o\n", (unsigned)job->spec->umask);
	arena_free(arena);
	buf_free(&nodes);
}

static json_t *base64(const void *data, size_t len)
{
	char *text = kube_base64_of(data, len);
	json_t *value = json_string(text);

	free(text);
	return value;
}

static json_t *secret_of(const struct kube_home *home,
                         const struct run_job *job, const struct buf *env)
{
	json_t *obj = kube_object_new(home, job, "v1", "Secret");
	json_t *data = json_object();
	struct buf init = { 0 };

	kube_init_script(&init);
	json_object_set_new(data, "env", base64(env->data, env->len));
	json_object_set_new(data, "init", base64(init.data, init.len));
	if (kube_agent_is(home, job)) {
		char *text = kube_agent_file(home, job);

		json_object_set_new(data, KUBE_AGENT_KEY,
		                    base64(text, strlen(text)));
		free(text);
	} else if (kube_object_is_gang(job))
		json_object_set_new(
		    data, "meet", base64(meet_script, sizeof(meet_script) - 1));
	json_object_set_new(data, "script",
	                    base64(job->script, job->script_len));
	json_object_set_new(obj, "immutable", json_true());
	json_object_set_new(obj, "data", data);
	buf_free(&init);
	return obj;
}

/* Set ret to the prefix of the names of all shared Secrets of this cluster. */
static void shared_prefix(char ret[KUBE_NAME_SIZE], const char *cluster)
{
	kube_object_name(ret, cluster, 0, 0);
	memcpy(ret, "as", 2);
	ret[strlen(ret) - strlen("0-0")] = '\0';
}

static json_t *shared_secret(const struct kube_home *home,
                             const struct run_job *job, const struct buf *env)
{
	uint64_t hash = hash_bytes(0, home->store, strlen(home->store));
	struct run_job array = *job;
	char name[KUBE_NAME_SIZE];
	size_t len;
	json_t *obj;

	array.job = job->array_job;
	array.attempt = 0;
	hash = hash_bytes(hash, env->data ? env->data : "", env->len);
	hash =
	    hash_bytes(hash, job->script ? job->script : "", job->script_len);
	shared_prefix(name, home->cluster);
	len = strlen(name);
	snprintf(name + len, sizeof(name) - len, "%" PRIu64 "-%016" PRIx64,
	         job->array_job, hash);
	obj = secret_of(home, &array, env);
	json_object_set_new(json_object_get(obj, "metadata"), "name",
	                    json_string(name));
	return obj;
}

json_t *kube_object_secret(const struct kube_home *home,
                           const struct run_job *job, int64_t now,
                           char **ret_own)
{
	struct buf common = { 0 }, own = { 0 };
	json_t *obj, *text;

	env_file(&common, &own, home, job, now);
	text = json_stringn(own.data, own.len);
	*ret_own = NULL;
	/* Tasks of an array share a Secret, with two exceptions: the text for
	 * one task is not UTF-8, so that it cannot be in the Job; or each task
	 * has an agent, whose key is in the Secret. */
	if (job->array_job && text && !kube_agent_is(home, job)) {
		obj = shared_secret(home, job, &common);
		*ret_own = buf_take(&own);
	} else {
		buf_add(&common, own.data, own.len);
		obj = secret_of(home, job, &common);
		buf_free(&own);
	}
	json_decref(text);
	buf_free(&common);
	return obj;
}

void kube_object_secret_share(json_t *obj, const char *secret, const char *own)
{
	json_t *notes =
	    json_object_get(json_object_get(obj, "metadata"), "annotations");
	json_t *pods = json_object_get(
	    json_object_get(json_object_get(obj, "spec"), "template"), "spec");
	json_t *volume, *main;
	size_t i;

	json_object_set_new(notes, KUBE_NOTE_SECRET, json_string(secret));
	json_array_foreach(json_object_get(pods, "volumes"), i, volume)
		if (json_object_get(volume, "secret"))
			json_object_set_new(json_object_get(volume, "secret"),
			                    "secretName", json_string(secret));
	main = json_array_get(json_object_get(pods, "containers"), 0);
	json_array_append_new(json_object_get(main, "env"),
	                      json_pack("{s:s, s:o}", "name", KUBE_OWN_VAR,
	                                "value", kube_object_literal(own)));
}

bool kube_object_secret_may_share(const char *name,
                                  const struct kube_home *home)
{
	char prefix[KUBE_NAME_SIZE];

	shared_prefix(prefix, home->cluster);
	return !strncmp(name, prefix, strlen(prefix));
}

const char *kube_object_secret_shared(const json_t *obj,
                                      const struct kube_home *home)
{
	const json_t *notes =
	    json_object_get(json_object_get(obj, "metadata"), "annotations");
	const char *name = kube_text_at(notes, KUBE_NOTE_SECRET);

	return name && kube_object_secret_may_share(name, home) ? name : NULL;
}
