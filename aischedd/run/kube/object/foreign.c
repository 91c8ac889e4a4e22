/* foreign.c - read Jobs made with kubectl as requests for jobs */
#include "aischedd/run/kube/object/foreign.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/affinity.h"
#include "aischedd/run/kube/object/partition.h"
#include "aischedd/run/kube/object/plain.h"
#include "aischedd/run/kube/object/pod.h"
#include "aischedd/run/kube/object/spread.h"
#include "aischedd/run/kube/object/wanted.h"
#include "libcommon/buf.h"
#include "libcommon/limits.h"
#include "libcommon/parse.h"
#include "libcommon/spec/spec_opt.h"

#define PREFIX "aisched.io/"

/* Options of aisub that a Job can give as label or annotation: those that make
 * sense if the Job itself describes the containers. */
static const char *const options[] = {
	"account",        "apart",       "begin",      "class",
	"comment",        "constraint",  "deadline",   "dependency",
	"exclude",        "exclusive",   "gpu-memory", "gpu-type",
	"hold",           "label",       "licenses",   "links",
	"max-restarts",   "near",        "nice",       "no-requeue",
	"nodelist",       "nodes",       "prefer",     "priority",
	"requeue",        "reservation", "segment",    "spread",
	"tasks-per-node", "time",        "topology",
};

/* Labels and annotations with our prefix that are not options of aisub. */
static const char *const others[] = {
	KUBE_LABEL_QUEUE, KUBE_LABEL_JOB, KUBE_LABEL_CLUSTER,
	KUBE_NOTE_STORE,  KUBE_NOTE_POOL, KUBE_NOTE_USER,
};

static bool is_one_of(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(s, list[i]))
			return true;
	return false;
}

static const char *entry(const json_t *map, const char *key)
{
	const char *s = kube_text_at(map, key);

	return s ? s : "";
}

/* --- read the state of a Job --- */

static void look_at_end(const json_t *status, struct kube_foreign *ret)
{
	const json_t *c;
	size_t i;

	json_array_foreach(json_object_get(status, "conditions"), i, c) {
		bool complete = !strcmp(kube_word(c, "type"), "Complete");
		bool failed = !strcmp(kube_word(c, "type"), "Failed");

		if ((!complete && !failed) ||
		    strcmp(kube_word(c, "status"), "True") != 0)
			continue;
		ret->complete |= complete;
		ret->failed |= failed;
		ret->reason = kube_word(c, "reason");
		ret->message = kube_word(c, "message");
		ret->late = failed && !strcmp(ret->reason, "DeadlineExceeded");
	}
}

static int64_t at_least_0(int64_t n)
{
	return n > 0 ? n : 0;
}

/* Set ret->width to the number of pods that run at once, and ret->rest to the
 * number that still have to succeed. A Job without completions ends when the
 * first of its pods succeeds. */
static void look_at_pods(const json_t *obj, struct kube_foreign *ret)
{
	struct kube_reader r = { .obj = obj };
	int64_t width = at_least_0(kube_int(&r, "spec.parallelism", 1));
	int64_t all = kube_int(&r, "spec.completions", -1);
	int64_t done = at_least_0(kube_int(&r, "status.succeeded", 0));

	if (all >= 0)
		ret->rest = all > done ? all - done : 0;
	else
		ret->rest = done ? 0 : INT64_MAX;
	if (all >= 0 && all < width)
		width = all;
	ret->width = width > UINT32_MAX ? UINT32_MAX : (uint32_t)width;
}

static void look_at_claim(const json_t *meta, const struct kube_home *home,
                          struct kube_foreign *ret)
{
	const json_t *labels = json_object_get(meta, "labels");
	const json_t *notes = json_object_get(meta, "annotations");
	const char *job = entry(labels, KUBE_LABEL_JOB);
	char *end;

	ret->queued = json_object_get(labels, KUBE_LABEL_QUEUE) != NULL;
	ret->taken = *entry(labels, KUBE_LABEL_CLUSTER) ||
	             *entry(notes, KUBE_NOTE_STORE);
	ret->ours = !strcmp(entry(labels, KUBE_LABEL_CLUSTER), home->cluster) &&
	            !strcmp(entry(notes, KUBE_NOTE_STORE), home->store) &&
	            !strcmp(entry(notes, KUBE_NOTE_POOL), home->pool->name);
	if (!ret->ours || *job < '1' || *job > '9')
		return;
	errno = 0;
	ret->job = strtoull(job, &end, 10);
	if (*end || errno)
		ret->job = 0;
}

int kube_foreign_look(json_t *obj, const struct kube_home *home,
                      struct kube_foreign *ret, struct err *err)
{
	const json_t *meta = json_object_get(obj, "metadata");
	struct kube_reader r = { .obj = obj };

	*ret = (struct kube_foreign){ .reason = "", .message = "" };
	ret->name = kube_word(obj, "metadata.name");
	ret->uid = kube_word(obj, "metadata.uid");
	if (!*ret->name || !*ret->uid)
		return err_set(err, EINVAL, "a Job without name or uid");
	ret->plain = !strcmp(kube_word(obj, "kind"), "Pod");
	ret->priority_class =
	    kube_word(obj, "spec.template.spec.priorityClassName");
	ret->version = kube_word(obj, "metadata.resourceVersion");
	ret->generation = kube_int(&r, "metadata.generation", 0);
	ret->suspended = kube_bool(&r, "spec.suspend", false);
	ret->start = kube_time(&r, "status.startTime");
	ret->deleting = json_object_get(meta, "deletionTimestamp") != NULL;
	look_at_end(json_object_get(obj, "status"), ret);
	look_at_pods(obj, ret);
	look_at_claim(meta, home, ret);
	return 0;
}

/* --- read what a Job requests --- */

struct wish {
	struct submit submit;
	const struct conf_pool *pool;
	const struct kube_wanted *wanted; /* GPUs of its claims; NULL: none */
	bool plain;                       /* it is a pod, not a Job */
	uint32_t width;                   /* how many of its pods run at once */
	/* metadata and spec of the Job, spec of its pods */
	const json_t *meta, *job, *pod;
	struct arena *arena;
};

/* Apply a label or annotation such as "aisched.io/time: 2h" as an option of
 * aisub. The value of an option without argument is yes or no. */
static int take_option(struct wish *w, const char *key, const json_t *value,
                       struct err *err)
{
	const char *name = key + strlen(PREFIX), *s = json_string_value(value);
	const struct opt *opt;
	bool yes = true;

	if (!is_one_of(name, options, ARRAY_SIZE(options)))
		return err_set(err, EINVAL, "there is no '%.100s'", key);
	opt = opt_find(spec_opts, name);
	s = s ? s : "";
	if (!opt->arg && parse_bool(s, &yes, err) < 0)
		return err_wrap(err, "%s", key);
	if (!yes)
		return 0;
	submit_clear(&w->submit, opt);
	if (opt_apply(spec_opts, &w->submit, name, opt->arg ? s : NULL, err) <
	    0)
		return err_wrap(err, "%s", key);
	return 0;
}

static int take_options(struct wish *w, const char *map, struct err *err)
{
	json_t *value;
	const char *key;

	json_object_foreach(json_object_get(w->meta, map), key, value)
		if (!strncmp(key, PREFIX, strlen(PREFIX)) &&
		    !is_one_of(key, others, ARRAY_SIZE(others)) &&
		    take_option(w, key, value, err) < 0)
			return -1;
	return 0;
}

/* Refuse claims where only device plugins give GPUs. */
static int refuse_claims(const struct wish *w, const char *what,
                         struct err *err)
{
	return err_set(err, EINVAL, "%s are not supported: ask for %s", what,
	               w->pool->gpu_resource);
}

/* Whether the pool counts a resource: CPUs, memory, ephemeral storage, its
 * GPUs, partitions of a known profile, and devices that the configuration
 * names. */
static bool is_counted(const struct wish *w, const char *resource)
{
	uint8_t profile;

	for (size_t i = 0; i < w->pool->nkinds; i++) {
		const char *of = w->pool->kinds[i].resource;

		if (of && !strcmp(of, resource))
			return true;
	}
	return !strcmp(resource, "cpu") || !strcmp(resource, "memory") ||
	       !strcmp(resource, "ephemeral-storage") ||
	       !strcmp(resource, w->pool->gpu_resource) ||
	       (kube_partition_is(resource, &profile) && profile);
}

static int refuse_resource(const struct wish *w, const char *resource,
                           struct err *err)
{
	if (kube_partition_is_shared(resource))
		return err_set(err, EINVAL,
		               "its pods ask for '%.100s', of which pods share "
		               "each partition: jobs get whole ones only",
		               resource);
	return err_set(err, EINVAL,
	               "pool '%s' does not count resource '%.100s', only cpu, "
	               "memory and %s",
	               w->pool->name, resource, w->pool->gpu_resource);
}

/* Refuse requests for resources that the pool does not count. */
static int check_resources(const struct wish *w, const json_t *resources,
                           struct err *err)
{
	static const char *const maps[] = { "requests", "limits" };
	const char *key;
	json_t *value;

	if (!w->wanted && json_array_size(json_object_get(resources, "claims")))
		return refuse_claims(w, "resource claims", err);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		json_object_foreach(json_object_get(resources, maps[i]), key,
		                    value)
			if (!is_counted(w, key))
				return refuse_resource(w, key, err);
	return 0;
}

static int check_containers(const struct wish *w, const char *list,
                            struct err *err)
{
	const json_t *c, *port;
	size_t i, k;

	json_array_foreach(json_object_get(w->pod, list), i, c) {
		if (check_resources(w, json_object_get(c, "resources"), err) <
		    0)
			return -1;
		json_array_foreach(json_object_get(c, "ports"), k, port)
			if (json_integer_value(
				json_object_get(port, "hostPort")))
				return err_set(err, EINVAL,
				               "ports of hosts are not "
				               "supported: leave out hostPort");
	}
	return 0;
}

/* Refuse ephemeral volumes with a claim for each pod: the claim is made after
 * its pod, too late to choose nodes by it. */
static int check_volumes(const struct wish *w, struct err *err)
{
	const json_t *volume;
	size_t i;

	json_array_foreach(json_object_get(w->pod, "volumes"), i, volume)
		if (json_is_object(json_object_get(volume, "ephemeral")))
			return err_set(err, EINVAL,
			               "ephemeral volumes are not supported: "
			               "name a claim in "
			               "persistentVolumeClaim, or use "
			               "emptyDir");
	return 0;
}

static int check_template(const struct wish *w, struct err *err)
{
	const char *manager = kube_word(w->job, "managedBy");
	const char *at = w->plain ? "spec" : "spec.template.spec";

	if (*manager && strcmp(manager, "kubernetes.io/job-controller") != 0)
		return err_set(err, EINVAL, "it is managed by '%.100s'",
		               manager);
	if (strcmp(kube_word(w->pod, "schedulerName"), KUBE_SCHEDULER) != 0)
		return err_set(err, EINVAL,
		               "set %s.schedulerName to '" KUBE_SCHEDULER "'",
		               at);
	if (*kube_word(w->pod, "nodeName"))
		return err_set(err, EINVAL,
		               "%s.nodeName is set: leave the choice to "
		               "aisched",
		               at);
	if (!w->plain &&
	    json_array_size(json_object_get(w->pod, "schedulingGates")))
		return err_set(err, EINVAL,
		               "its pods have schedulingGates, which nobody "
		               "would open: leave them out");
	if (!w->wanted &&
	    json_array_size(json_object_get(w->pod, "resourceClaims")))
		return refuse_claims(w, "resourceClaims", err);
	if (check_volumes(w, err) < 0 ||
	    check_containers(w, "containers", err) < 0 ||
	    check_containers(w, "initContainers", err) < 0 ||
	    check_resources(w, json_object_get(w->pod, "resources"), err) < 0)
		return -1;
	return 0;
}

/* Add the node affinity of the pods to the options: a node must meet both the
 * option `constraint` and the required affinity; the option `prefer` comes
 * before the preferred affinity. */
static int take_rules(struct wish *w, struct err *err)
{
	struct spec *spec = &w->submit.spec;
	struct buf text = { 0 };
	int rc = kube_affinity_constraint(w->pod, spec->constraint, &text, err);

	if (rc == 0 && text.len)
		spec->constraint = arena_strdup(w->arena, text.data);
	buf_clear(&text);
	if (rc == 0)
		rc = kube_affinity_prefer(w->pod, spec->prefer, &text, err);
	if (rc == 0 && text.len)
		spec->prefer = arena_strdup(w->arena, text.data);
	buf_free(&text);
	return rc;
}

/* Take the topologySpreadConstraints of the pods as the option `spread`.
 * Constraints that are only preferences are ignored if the Job has the option
 * `spread` itself, or if they contradict other options. */
static int take_spread(struct wish *w, const char *name,
                       const struct conf_topology *topology, struct err *err)
{
	struct spec *spec = &w->submit.spec;
	const json_t *template = json_object_get(w->job, "template");
	struct buf text = { 0 };
	struct request req;
	int rc =
	    kube_spread(template, w->plain ? NULL : name, topology, &text, err);
	bool wish = text.len && strchr(text.data, ':');

	if (rc == 0 && text.len && spec->spread && !wish)
		rc = err_set(err, EINVAL,
		             "topologySpreadConstraints and " PREFIX
		             "spread: give only one");
	if (rc == 0 && text.len && !spec->spread) {
		spec->spread = arena_strdup(w->arena, text.data);
		if (wish && spec_resolve(spec, 0, &req, NULL) < 0)
			spec->spread = NULL;
	}
	buf_free(&text);
	return rc;
}

/* Take a requested partition as a GPU of this type. */
static int take_partition(struct wish *w, const struct kube_amount *use,
                          struct err *err)
{
	struct spec *spec = &w->submit.spec;
	uint8_t profile = 0;
	bool several = false;

	for (uint8_t p = 1; p < mig_nprofiles(); p++) {
		several |= use->parts[p] && profile;
		profile = use->parts[p] ? p : profile;
	}
	if (!profile)
		return 0;
	if (several || use->gpus)
		return err_set(err, EINVAL,
		               "its pods ask for a %s and for other GPUs: ask "
		               "for one partition",
		               mig_profile_name[profile]);
	if (spec->gpu_type &&
	    strcmp(spec->gpu_type, mig_profile_name[profile]) != 0)
		return err_set(err, EINVAL,
		               "its pods ask for a %s, but " PREFIX
		               "gpu-type is '%.100s': leave that out",
		               mig_profile_name[profile], spec->gpu_type);
	spec->gpu_type = mig_profile_name[profile];
	spec->gpus = use->parts[profile] * (int64_t)1000;
	return 0;
}

/* Take the requested devices as the option `device`. */
static void take_devices(struct wish *w, const struct kube_amount *use)
{
	struct device_counts devs = { { 0 } };
	struct buf text = { 0 };

	for (int i = 0; i < DEVICE_KINDS; i++)
		devs.n[i] = (int16_t)(use->devs[i] < DEVICE_MAX ? use->devs[i]
		                                                : DEVICE_MAX);
	devices_put(w->pool->kind_names, w->pool->nkinds, &devs, "", &text);
	if (text.len)
		w->submit.spec.device = arena_strdup(w->arena, text.data);
	buf_free(&text);
}

static int64_t times(int64_t n, uint32_t by)
{
	int64_t product;

	return __builtin_mul_overflow(n, (int64_t)by, &product) ? INT64_MAX
	                                                        : product;
}

/* Returns how many of the Job's pods are one task: those that share a claim run
 * on one node, and the GPUs of the claim count once. */
static uint32_t pods_a_task(const struct wish *w)
{
	return w->wanted && w->wanted->shared ? w->width : 1;
}

/* Take the GPUs of the claims, and where they must be, as options. */
static int take_wanted(struct wish *w, const struct kube_amount *use,
                       struct err *err)
{
	const struct kube_wanted *wanted = w->wanted;
	struct spec *spec = &w->submit.spec;
	uint32_t pods = pods_a_task(w);

	if (use->gpus)
		return err_set(err, EINVAL,
		               "its pods ask for GPUs by resourceClaims and by "
		               "resource '%s': leave one of them out",
		               w->pool->gpu_resource);
	for (uint8_t p = 1; p < mig_nprofiles(); p++)
		if (use->parts[p])
			return err_set(err, EINVAL,
			               "its pods ask for a %s and for "
			               "resourceClaims: leave one of them out",
			               mig_profile_name[p]);
	if (pods > KUBE_RESERVED_MAX)
		return err_set(err, EINVAL,
		               "%" PRIu32 " of its pods share a ResourceClaim: "
		               "at most %d may",
		               pods, KUBE_RESERVED_MAX);
	spec->gpus = 1000 * (wanted->shared + (int64_t)pods * wanted->own);
	if (wanted->numa)
		spec->numa = "strict";
	if (wanted->links)
		spec->links = "strict";
	if (pods > 1)
		spec->kube_pods = pods;
	return 0;
}

/* Take the requested CPUs, memory and devices as options. For those not
 * requested, the queue's defaults apply. */
static int take_amounts(struct wish *w, struct err *err)
{
	struct spec *spec = &w->submit.spec;
	struct kube_amount use = kube_pod_use(w->pod, w->pool);
	uint32_t pods = pods_a_task(w);

	if (kube_amount_has_gpus(&use) && w->pool->devices == DEVICES_DRA)
		return err_set(
		    err, EINVAL,
		    "pool '%s' gives GPUs by claims, not by resource "
		    "'%s': ask for them by resourceClaims",
		    w->pool->name, w->pool->gpu_resource);
	if (w->wanted && w->wanted->n && take_wanted(w, &use, err) < 0)
		return -1;
	if (use.cpu_milli)
		spec->cpus =
		    times(kube_cpus_more(w->pool, use.cpu_milli, true), pods);
	if (use.mem_mib)
		spec->mem = times(use.mem_mib, pods);
	if (use.gpus)
		spec->gpus =
		    use.gpus < INT64_MAX / 1000 ? use.gpus * 1000 : INT64_MAX;
	for (int i = 0; i < DEVICE_KINDS; i++)
		use.devs[i] = times(use.devs[i], pods);
	take_devices(w, &use);
	return take_partition(w, &use, err);
}

/* Take the requested ephemeral storage as the option `tmp`, which is for all
 * pods on a node together. So call this after all options are set that say how
 * many pods may share a node. */
static void take_tmp(struct wish *w)
{
	struct spec *spec = &w->submit.spec;
	struct kube_amount use = kube_pod_use(w->pod, w->pool);

	if (use.tmp_mib)
		spec->tmp =
		    spec_tmp_of_node(spec, times(use.tmp_mib, pods_a_task(w)));
}

/* Turn the volume claims of the pods into the option `mount`, so that jobs are
 * placed on nodes that reach the volumes. The Job itself says where its
 * containers mount them, so the path here is always "/". */
static void take_claims(struct wish *w)
{
	json_t *claims = kube_pod_claims(w->pod);
	struct buf text = { 0 };
	const json_t *name;
	size_t i;

	json_array_foreach(claims, i, name)
		buf_printf(&text, "%spvc:%s:/", text.len ? "," : "",
		           json_string_value(name));
	if (text.len)
		w->submit.spec.mount = arena_strdup(w->arena, text.data);
	buf_free(&text);
	json_decref(claims);
}

static int take_times(struct wish *w, struct err *err)
{
	struct spec *spec = &w->submit.spec;
	struct kube_reader job = { .obj = w->job }, pod = { .obj = w->pod };
	int64_t limit = kube_int(&job, "activeDeadlineSeconds", SPEC_UNSET);
	int64_t grace =
	    kube_int(&pod, "terminationGracePeriodSeconds", SPEC_UNSET);

	if (job.err.code || pod.err.code)
		return err_set(err, EINVAL, "%s",
		               job.err.code ? job.err.text : pod.err.text);
	if (spec->time_limit == SPEC_UNSET)
		spec->time_limit = limit;
	spec->grace = grace;
	return 0;
}

const char *kube_foreign_user(json_t *obj, const struct conf_pool *pool)
{
	json_t *meta = json_object_get(obj, "metadata");

	return pool->user_annotation
	           ? entry(json_object_get(meta, "annotations"),
	                   pool->user_annotation)
	           : "";
}

static int take_user(const struct wish *w, const char *s, const char **ret,
                     struct err *err)
{
	const char *key = w->pool->user_annotation;
	char *name;

	*ret = NULL;
	if (!*s)
		return 0;
	if (strlen(s) > KUBE_USER_MAX)
		return err_set(err, EINVAL, "%s: at most %d characters", key,
		               KUBE_USER_MAX);
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return err_set(err, EINVAL, "%s: blanks in a name",
			               key);
	name = xasprintf(KUBE_USER_PREFIX "%s", s);
	*ret = arena_strdup(w->arena, name);
	free(name);
	return 0;
}

/* A pod runs once: its controller makes another one. It may serve for as long
 * as it likes, unless it says otherwise; queues with max_time refuse it then.
 */
static int take_once(struct wish *w, struct err *err)
{
	struct spec *spec = &w->submit.spec;

	if (spec->requeue == 1)
		return err_set(err, EINVAL,
		               PREFIX "requeue: a pod cannot run again, only "
		                      "Jobs can");
	spec->requeue = 0;
	spec->kube_pod = 1;
	if (spec->time_limit == SPEC_UNSET)
		spec->time_limit = TIME_UNLIMITED;
	return 0;
}

/* Check the options in the same way as those that aisub sends, and store them
 * in ret. */
static int check_spec(const struct wish *w, struct spec *ret, struct err *err)
{
	json_t *obj = spec_to_json(&w->submit.spec);
	int rc = spec_from_json(ret, obj, w->arena, err);

	json_decref(obj);
	return rc;
}

int kube_foreign_read(json_t *obj, const struct conf_pool *pool,
                      const struct conf_topology *topology,
                      const struct kube_wanted *wanted, int64_t now,
                      struct arena *arena, struct spec *ret,
                      const char **ret_user, struct err *err)
{
	struct wish w = { .pool = pool, .wanted = wanted, .arena = arena };
	struct kube_home home = { .pool = pool, .cluster = "", .store = "" };
	struct spec *spec = &w.submit.spec;
	struct kube_reader r = { .obj = obj };
	struct kube_foreign f;

	if (kube_foreign_look(obj, &home, &f, err) < 0)
		return -1;
	w.meta = json_object_get(obj, "metadata");
	w.job = json_object_get(obj, "spec");
	w.pod = kube_map(&r, "spec.template.spec");
	if (!w.pod)
		return err_set(err, EINVAL, "it has no spec.template.spec");
	w.plain = f.plain;
	w.width = f.width;
	submit_init(&w.submit, arena, NULL, now);
	if (!f.suspended && f.plain)
		return err_set(err, EINVAL,
		               "create it with '" KUBE_GATE
		               "' in spec.schedulingGates: aisched opens it");
	if (!f.suspended)
		return err_set(err, EINVAL,
		               "set spec.suspend to true: aisched starts it");
	if (!f.width)
		return err_set(err, EINVAL, "it asks for no pods");
	if (check_template(&w, err) < 0 ||
	    take_options(&w, "labels", err) < 0 ||
	    take_options(&w, "annotations", err) < 0 ||
	    take_times(&w, err) < 0 ||
	    take_user(&w, kube_foreign_user(obj, pool), ret_user, err) < 0 ||
	    take_rules(&w, err) < 0 || take_amounts(&w, err) < 0)
		return -1;
	if (f.plain && take_once(&w, err) < 0)
		return -1;
	take_claims(&w);
	spec->name = f.name;
	spec->queue =
	    entry(json_object_get(w.meta, "labels"), KUBE_LABEL_QUEUE);
	spec->pool = pool->name;
	spec->kube_uid = f.uid;
	spec->tasks = f.width / pods_a_task(&w);
	if (spec->requeue == SPEC_UNSET)
		spec->requeue = 1; /* the Job controller restarts pods, too */
	spec->output = "/dev/null";
	spec->workdir = "/";
	if (take_spread(&w, f.name, topology, err) < 0)
		return -1;
	take_tmp(&w);
	return check_spec(&w, ret, err);
}

/* --- make patches --- */

json_t *kube_foreign_claim(const struct kube_home *home, const char *uid,
                           const char *version, uint64_t job)
{
	char id[24];

	snprintf(id, sizeof(id), "%" PRIu64, job);
	return json_pack("{s:{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s}}}",
	                 "metadata", "uid", uid, "resourceVersion", version,
	                 "labels", KUBE_LABEL_JOB, id, KUBE_LABEL_CLUSTER,
	                 home->cluster, "annotations", KUBE_NOTE_STORE,
	                 home->store, KUBE_NOTE_POOL, home->pool->name);
}

json_t *kube_foreign_suspend(const char *uid, bool suspend)
{
	return json_pack("{s:{s:s}, s:{s:b}}", "metadata", "uid", uid, "spec",
	                 "suspend", suspend);
}

json_t *kube_foreign_expire(const char *uid)
{
	return json_pack("{s:{s:s}, s:{s:i}}", "metadata", "uid", uid, "spec",
	                 "activeDeadlineSeconds", 1);
}
