/* kube_object.c - what a job is in a cluster: its objects, as JSON */
#include "aischedd/run/kube_object.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/record.h"
#include "aischedd/run/shepherd_env.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

#define JOB_DIR  "/aisched/job"
#define WORK_DIR "/aisched/work"

enum {
	CLUSTER_IN_NAME = 20,
	GRACE_LOST_S = 60, /* a node that is not heard of keeps its pods */
	MODE_RX = 0555
};

/*
 * The first process of a container: it gets no signal that it does not trap,
 * and its children none at all.  So it passes TERM on to everything in there
 * and ends as the script has ended.
 */
static const char init_script[] = ". " JOB_DIR "/env\n"
				  "trap 'kill -TERM -1 2>/dev/null' TERM\n"
				  "\"" JOB_DIR "/script\" \"$@\" &\n"
				  "child=$!\n"
				  "wait \"$child\"\n"
				  "status=$?\n"
				  "# A signal ends the wait, not the script.\n"
				  "while kill -0 \"$child\" 2>/dev/null; do\n"
				  "\twait \"$child\"\n"
				  "\tstatus=$?\n"
				  "done\n"
				  "exit \"$status\"\n";

/* --- names, labels --- */

void kube_object_name(char ret[KUBE_NAME_SIZE], const char *cluster,
                      uint64_t job, uint32_t attempt)
{
	char part[CLUSTER_IN_NAME + 1];
	size_t n = 0;

	for (; cluster[n] && n < CLUSTER_IN_NAME; n++)
		part[n] = isalnum((unsigned char)cluster[n])
		              ? (char)tolower((unsigned char)cluster[n])
		              : '-';
	part[n] = '\0';
	snprintf(ret, KUBE_NAME_SIZE, "aj-%s-%" PRIu64 "-%" PRIu32, part, job,
	         attempt);
}

static void set_number(json_t *obj, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	json_object_set_new(obj, key, json_string(text));
}

static json_t *labels_of(const struct kube_home *home,
                         const struct run_job *job)
{
	json_t *labels = json_object();

	set_number(labels, KUBE_LABEL_JOB, job->job);
	json_object_set_new(labels, KUBE_LABEL_QUEUE, json_string(job->queue));
	json_object_set_new(labels, KUBE_LABEL_CLUSTER,
	                    json_string(home->cluster));
	return labels;
}

static json_t *notes_of(const struct kube_home *home, const struct run_job *job)
{
	json_t *notes = json_object();

	set_number(notes, KUBE_NOTE_ATTEMPT, job->attempt);
	json_object_set_new(notes, KUBE_NOTE_STORE, json_string(home->store));
	json_object_set_new(notes, KUBE_NOTE_POOL,
	                    json_string(home->pool->name));
	return notes;
}

static json_t *new_object(const struct kube_home *home,
                          const struct run_job *job, const char *version,
                          const char *kind)
{
	char name[KUBE_NAME_SIZE];

	kube_object_name(name, home->cluster, job->job, job->attempt);
	return json_pack(
	    "{s:s, s:s, s:{s:s, s:s, s:o, s:o}}", "apiVersion", version, "kind",
	    kind, "metadata", "name", name, "namespace", home->pool->namespace,
	    "labels", labels_of(home, job), "annotations", notes_of(home, job));
}

void kube_object_own(json_t *obj, const char *name, const char *uid)
{
	json_object_set_new(json_object_get(obj, "metadata"), "ownerReferences",
	                    json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion",
	                              "batch/v1", "kind", "Job", "name", name,
	                              "uid", uid));
}

static bool read_number(const json_t *map, const char *key, uint64_t max,
                        uint64_t *ret)
{
	const char *s = json_string_value(json_object_get(map, key));
	char *end;

	if (!s || !isdigit((unsigned char)*s))
		return false;
	errno = 0;
	*ret = strtoull(s, &end, 10);
	return !*end && !errno && *ret <= max;
}

static bool says(const json_t *map, const char *key, const char *value)
{
	const char *s = json_string_value(json_object_get(map, key));

	return s && !strcmp(s, value);
}

bool kube_object_is_ours(const json_t *obj, const struct kube_home *home,
                         struct kube_owner *ret)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *labels = json_object_get(meta, "labels");
	const json_t *notes = json_object_get(meta, "annotations");
	uint64_t attempt;

	if (!says(labels, KUBE_LABEL_CLUSTER, home->cluster) ||
	    !says(notes, KUBE_NOTE_STORE, home->store) ||
	    !says(notes, KUBE_NOTE_POOL, home->pool->name) ||
	    !read_number(labels, KUBE_LABEL_JOB, UINT64_MAX, &ret->job) ||
	    !read_number(notes, KUBE_NOTE_ATTEMPT, UINT32_MAX, &attempt))
		return false;
	ret->attempt = (uint32_t)attempt;
	return true;
}

/* --- mounts --- */

struct volumes {
	json_t *volumes, *mounts;
	unsigned n;
};

static void add_volume(struct volumes *v, const char *path, const char *kind,
                       json_t *source, bool read_only)
{
	char name[16];

	snprintf(name, sizeof(name), "v%u", v->n++);
	json_array_append_new(
	    v->volumes, json_pack("{s:s, s:o}", "name", name, kind, source));
	json_array_append_new(v->mounts, json_pack("{s:s, s:s, s:b}", "name",
	                                           name, "mountPath", path,
	                                           "readOnly", read_only));
}

/* A folder on the host is allowed with all that is below. */
static bool is_allowed(const struct strlist *allowed, const char *source)
{
	bool claim = !strncmp(source, "pvc:", 4);

	for (size_t i = 0; i < allowed->n; i++) {
		const char *s = allowed->s[i];
		size_t len = strlen(s);

		if (!fnmatch(s, source, FNM_PATHNAME))
			return true;
		if (!claim && !strncmp(s, source, len) && source[len] == '/')
			return true;
	}
	return false;
}

/* "/data", "/data:/mnt", "pvc:NAME:/mnt", each with ":ro". */
static int add_mount(struct volumes *v, const struct kube_home *home,
                     const char *text, struct err *err)
{
	char *copy = xstrdup(text), *source = copy, *path, *colon;
	size_t len = strlen(copy);
	bool read_only = len > 3 && !strcmp(copy + len - 3, ":ro");
	bool claim = !strncmp(copy, "pvc:", 4);
	int rc = -1;

	if (read_only)
		copy[len - 3] = '\0';
	colon = strchr(claim ? copy + 4 : copy, ':');
	path = colon ? colon + 1 : source;
	if (colon)
		*colon = '\0';
	if ((!claim && *source != '/') || *path != '/' || strchr(path, ':') ||
	    strstr(source, "/../") || strstr(path, "/.."))
		err_set(err, EINVAL,
		        "mount '%s': want PATH[:PATH][:ro] or "
		        "pvc:CLAIM:PATH[:ro]",
		        text);
	else if (!is_allowed(&home->pool->allow_mounts, source))
		err_set(err, EINVAL,
		        "mount '%s': pool '%s' does not allow it (its "
		        "allow_mounts)",
		        source, home->pool->name);
	else
		rc = 0;
	if (rc == 0 && claim)
		add_volume(v, path, "persistentVolumeClaim",
		           json_pack("{s:s}", "claimName", source + 4),
		           read_only);
	else if (rc == 0)
		add_volume(v, path, "hostPath",
		           json_pack("{s:s}", "path", source), read_only);
	free(copy);
	return rc;
}

static int add_mounts(struct volumes *v, const struct kube_home *home,
                      const char *list, struct err *err)
{
	char *copy = xstrdup(list ? list : ""), *rest = copy, *one;
	int rc = 0;

	while (rc == 0 && (one = strsep(&rest, ",")))
		if (*one)
			rc = add_mount(v, home, one, err);
	free(copy);
	return rc;
}

static bool is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	while (len > 1 && top[len - 1] == '/')
		len--;
	return !strncmp(path, top, len) &&
	       (!path[len] || path[len] == '/' || len == 1);
}

/*
 * The script begins in the folder of that name: of a mount, else an empty one,
 * unless it would hide what the image needs.
 */
static const char *add_workdir(struct volumes *v, const char *path)
{
	static const char *const systems[] = { "/bin",    "/dev", "/etc",
		                               "/lib",    "/opt", "/proc",
		                               "/sbin",   "/sys", "/usr",
		                               "/aisched" };
	const json_t *mount;
	size_t i;

	json_array_foreach(v->mounts, i, mount)
		if (is_below(path, json_string_value(
				       json_object_get(mount, "mountPath"))))
			return path;
	for (i = 0; i < ARRAY_SIZE(systems); i++)
		if (is_below(path, systems[i]))
			path = WORK_DIR;
	if (!strcmp(path, "/"))
		path = WORK_DIR;
	add_volume(v, path, "emptyDir", json_object(), false);
	return path;
}

/* --- the Job --- */

static json_t *resources_of(const struct kube_home *home,
                            const struct run_job *job)
{
	json_t *list = json_object();
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64 "m", job->req->cpus_milli);
	json_object_set_new(list, "cpu", json_string(text));
	snprintf(text, sizeof(text), "%" PRId64 "Mi", job->req->mem_mib);
	json_object_set_new(list, "memory", json_string(text));
	if (job->req->gpus_milli) {
		snprintf(text, sizeof(text), "%" PRId64,
		         (job->req->gpus_milli + 999) / 1000);
		json_object_set_new(list, home->pool->gpu_resource,
		                    json_string(text));
	}
	return json_pack("{s:O, s:o}", "requests", list, "limits", list);
}

static json_t *args_of(const struct run_job *job)
{
	json_t *args =
	    job->spec->args ? json_loads(job->spec->args, 0, NULL) : NULL;

	return args ? args : json_array();
}

static json_t *container_of(const struct kube_home *home,
                            const struct run_job *job, const char *image,
                            const char *workdir, json_t *mounts)
{
	return json_pack(
	    "{s:s, s:s, s:s, s:[s, s], s:o, s:s, s:o, s:O, s:{s:b}, s:s}",
	    "name", "main", "image", image, "imagePullPolicy", "IfNotPresent",
	    "command", "/bin/sh", JOB_DIR "/init", "args", args_of(job),
	    "workingDir", workdir, "resources", resources_of(home, job),
	    "volumeMounts", mounts, "securityContext",
	    "allowPrivilegeEscalation", false, "terminationMessagePolicy",
	    "File");
}

/* How long a pod stays bound to a node that is not heard of. */
static json_t *tolerations(void)
{
	static const char *const keys[] = { "node.kubernetes.io/not-ready",
		                            "node.kubernetes.io/unreachable" };
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_array_append_new(
		    list, json_pack("{s:s, s:s, s:s, s:i}", "key", keys[i],
		                    "operator", "Exists", "effect", "NoExecute",
		                    "tolerationSeconds", GRACE_LOST_S));
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

static json_t *pod_spec(const struct kube_home *home, const struct run_job *job,
                        const char *image, struct volumes *v)
{
	const char *workdir = add_workdir(v, job->spec->workdir);
	const char *account = home->pool->service_account;
	char name[KUBE_NAME_SIZE];
	json_t *spec;

	kube_object_name(name, home->cluster, job->job, job->attempt);
	add_volume(
	    v, JOB_DIR, "secret",
	    json_pack("{s:s, s:i}", "secretName", name, "defaultMode", MODE_RX),
	    true);
	add_volume(v, "/dev/shm", "emptyDir",
	           json_pack("{s:s}", "medium", "Memory"), false);
	spec = json_pack(
	    "{s:s, s:s, s:I, s:b, s:b, s:o, s:o, s:[o], s:O,"
	    " s:{s:I, s:I, s:I, s:b}}",
	    "schedulerName", "aisched", "restartPolicy", "Never",
	    "terminationGracePeriodSeconds", (json_int_t)job->grace,
	    "enableServiceLinks", false, "automountServiceAccountToken",
	    account != NULL, "tolerations", tolerations(), "imagePullSecrets",
	    pull_secrets(home->pool), "containers",
	    container_of(home, job, image, workdir, v->mounts), "volumes",
	    v->volumes, "securityContext", "runAsUser", (json_int_t)job->uid,
	    "runAsGroup", (json_int_t)job->gid, "fsGroup", (json_int_t)job->gid,
	    "runAsNonRoot", job->uid != 0);
	if (job->ntasks > 1 || job->req->tasks > 1)
		json_object_set_new(spec, "subdomain", json_string(name));
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
	if (job->spec->launch_script == 1 && job->ntasks > 1)
		return err_set(err, EINVAL,
		               "--launch script with several tasks: in pool "
		               "'%s' each is a pod that runs the script",
		               pool);
	return 0;
}

json_t *kube_object_job(const struct kube_home *home, const struct run_job *job,
                        struct err *err)
{
	const char *image =
	    job->spec->image ? job->spec->image : home->pool->image;
	struct volumes v = { 0 };
	json_t *obj = NULL, *notes, *pod_notes;

	if (check_job(home, job, image, err) < 0)
		return NULL;
	v.volumes = json_array();
	v.mounts = json_array();
	if (add_mounts(&v, home, job->spec->mount, err) < 0)
		goto out;
	obj = new_object(home, job, "batch/v1", "Job");
	notes =
	    json_object_get(json_object_get(obj, "metadata"), "annotations");
	set_number(notes, KUBE_NOTE_TASKS, job->ntasks);
	pod_notes = notes_of(home, job);
	json_object_set_new(pod_notes,
	                    "cluster-autoscaler.kubernetes.io/safe-to-evict",
	                    json_string("false"));
	/* What a pod that fails means for the others is for us to say. */
	json_object_set_new(
	    obj, "spec",
	    json_pack("{s:s, s:i, s:i, s:i, s:s, s:{s:{s:o, s:o}, s:o}}",
	              "completionMode", "Indexed", "parallelism",
	              (int)job->ntasks, "completions", (int)job->ntasks,
	              "backoffLimitPerIndex", 0, "podReplacementPolicy",
	              "Failed", "template", "metadata", "labels",
	              labels_of(home, job), "annotations", pod_notes, "spec",
	              pod_spec(home, job, image, &v)));
out:
	json_decref(v.volumes);
	json_decref(v.mounts);
	return obj;
}

/* --- the Secret --- */

static bool is_one_of(const char *var, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && !strncmp(*list, var, len))
			return true;
	return false;
}

/* What is true of the submitter's machine, or of one local process. */
static bool is_local(const char *var, size_t len)
{
	static const char *const names[] = {
		/* The image knows better. */
		"HOME", "HOSTNAME", "LD_LIBRARY_PATH", "LD_PRELOAD", "OLDPWD",
		"PATH", "PWD", "SHELL", "SHLVL", "TMPDIR", "_",
		/* Of each pod, below. */
		RUN_ID_VAR, "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR",
		NULL
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

/* Shells name functions that they export as they like. */
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

static void add_ranks(struct buf *out, const struct kube_home *home,
                      const struct run_job *job)
{
	static const char *const ranks[] = { "AISCHED_PROCID", "SLURM_PROCID",
		                             "AISCHED_NODEID", "SLURM_NODEID" };
	char name[KUBE_NAME_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++)
		buf_printf(out, "export %s=\"$JOB_COMPLETION_INDEX\"\n",
		           ranks[i]);
	buf_puts(out, "export AISCHED_LOCALID=0 SLURM_LOCALID=0\n");
	if (job->ntasks == 1 && job->req->tasks == 1)
		return;
	kube_object_name(name, home->cluster, job->job, job->attempt);
	buf_printf(out,
	           "export RANK=\"$JOB_COMPLETION_INDEX\" LOCAL_RANK=0\n"
	           "export WORLD_SIZE=%" PRIu32 "\n"
	           "export MASTER_ADDR='%s-0.%s'\n",
	           job->ntasks, name, name);
}

static void env_file(struct buf *out, const struct kube_home *home,
                     const struct run_job *job, int64_t now)
{
	struct order order = { .job = *job };
	struct env_of of = { .order = &order, .start = now };
	struct arena *arena = arena_new();
	struct buf nodes = { 0 };

	for (uint32_t i = 0; i < job->ntasks; i++)
		buf_printf(&nodes, "%s%s", i ? "," : "", job->node_name[i]);
	order.host = nodes.data;
	for (char **var = env_build(&of, arena); *var; var++) {
		const char *eq = strchr(*var, '=');
		size_t len = eq ? (size_t)(eq - *var) : 0;

		if (is_name(*var, len) && !is_local(*var, len))
			add_export(out, *var, len);
	}
	add_ranks(out, home, job);
	if (job->spec->umask != SPEC_UNSET)
		buf_printf(out, "umask 0%03o\n", (unsigned)job->spec->umask);
	arena_free(arena);
	buf_free(&nodes);
}

static json_t *base64(const void *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;
	struct buf out = { 0 };
	json_t *text;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t)p[i] << 16;

		if (i + 1 < len)
			bits |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < len)
			bits |= p[i + 2];
		buf_addc(&out, digits[bits >> 18]);
		buf_addc(&out, digits[bits >> 12 & 63]);
		buf_addc(&out, i + 1 < len ? digits[bits >> 6 & 63] : '=');
		buf_addc(&out, i + 2 < len ? digits[bits & 63] : '=');
	}
	text = json_stringn(out.data ? out.data : "", out.len);
	buf_free(&out);
	return text;
}

json_t *kube_object_secret(const struct kube_home *home,
                           const struct run_job *job, int64_t now)
{
	json_t *obj = new_object(home, job, "v1", "Secret");
	json_t *data = json_object();
	struct buf env = { 0 };

	env_file(&env, home, job, now);
	json_object_set_new(data, "env", base64(env.data, env.len));
	json_object_set_new(data, "init",
	                    base64(init_script, sizeof(init_script) - 1));
	json_object_set_new(data, "script",
	                    base64(job->script, job->script_len));
	json_object_set_new(obj, "immutable", json_true());
	json_object_set_new(obj, "data", data);
	buf_free(&env);
	return obj;
}

json_t *kube_object_service(const struct kube_home *home,
                            const struct run_job *job)
{
	json_t *obj = new_object(home, job, "v1", "Service");
	char name[KUBE_NAME_SIZE];

	kube_object_name(name, home->cluster, job->job, job->attempt);
	/* Ranks look for each other before they are ready. */
	json_object_set_new(obj, "spec",
	                    json_pack("{s:s, s:b, s:{s:s}}", "clusterIP",
	                              "None", "publishNotReadyAddresses", true,
	                              "selector",
	                              "batch.kubernetes.io/job-name", name));
	return obj;
}

/* --- what is done to them --- */

json_t *kube_object_binding(const char *namespace, const char *pod,
                            const char *uid, const char *node)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s}}",
	                 "apiVersion", "v1", "kind", "Binding", "metadata",
	                 "name", pod, "namespace", namespace, "uid", uid,
	                 "target", "apiVersion", "v1", "kind", "Node", "name",
	                 node);
}

json_t *kube_object_deletion(const char *uid, int64_t grace_s)
{
	json_t *obj = json_pack("{s:s, s:s, s:s, s:{s:s}}", "apiVersion", "v1",
	                        "kind", "DeleteOptions", "propagationPolicy",
	                        "Background", "preconditions", "uid", uid);

	if (grace_s >= 0)
		json_object_set_new(obj, "gracePeriodSeconds",
		                    json_integer((json_int_t)grace_s));
	return obj;
}

json_t *kube_object_leave(const char *uid, const char *why)
{
	return json_pack("{s:{s:s, s:{s:s}}, s:{s:i}}", "metadata", "uid", uid,
	                 "annotations", KUBE_NOTE_LEAVE, why, "spec",
	                 "activeDeadlineSeconds", 1);
}

json_t *kube_object_indexes(const char *uid, uint32_t n)
{
	return json_pack("{s:{s:s}, s:{s:i, s:i}}", "metadata", "uid", uid,
	                 "spec", "parallelism", (int)n, "completions", (int)n);
}
