/* pod.c - read a pod as the API server reports it */
#include "aischedd/run/kube/object/pod.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/init.h"
#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/object/partition.h"
#include "aischedd/run/kube/object/wanted.h"
#include "libcommon/mem.h"

/* --- resources that a pod uses --- */

/* Returns milli * by / in, rounded up if `up`; INT64_MAX if that is too
 * large. */
static int64_t scale(int64_t milli, int64_t by, int64_t in, bool up)
{
	if (milli <= 0)
		return milli;
	if (milli > (INT64_MAX - in) / by)
		return INT64_MAX;
	return (milli * by + (up ? in - 1 : 0)) / in;
}

static int64_t overcommit_of(const struct conf_pool *pool)
{
	return pool->cpu_overcommit > 1000 ? pool->cpu_overcommit : 1000;
}

int64_t kube_cpus_more(const struct conf_pool *pool, int64_t milli, bool up)
{
	return scale(milli, overcommit_of(pool), 1000, up);
}

int64_t kube_cpus_less(const struct conf_pool *pool, int64_t milli)
{
	return scale(milli, 1000, overcommit_of(pool), false);
}

/* Read the numbers of devices that the configuration names, by kind. */
static void read_devs(const json_t *map, const struct conf_pool *pool,
                      int64_t ret[DEVICE_KINDS])
{
	struct err err;

	for (size_t i = 0; i < pool->nkinds; i++) {
		const char *resource = pool->kinds[i].resource;

		if (resource && json_object_get(map, resource))
			(void)kube_whole_of(json_object_get(map, resource),
			                    &ret[i], &err);
		if (ret[i] < 0)
			ret[i] = 0;
	}
}

void kube_devs_asked(const struct conf_pool *pool, const char *device,
                     int64_t ret[DEVICE_KINDS])
{
	struct device_counts devs = { { 0 } };
	struct err err;

	if (device)
		(void)devices_parse(pool->kind_names, pool->nkinds, device,
		                    &devs, &err);
	for (int i = 0; i < DEVICE_KINDS; i++)
		ret[i] = devs.n[i];
}

bool kube_devs_by_claims(const struct conf_pool *pool, const char *device)
{
	int64_t n[DEVICE_KINDS];

	kube_devs_asked(pool, device, n);
	for (size_t i = 0; i < pool->nkinds; i++)
		if (n[i] && pool->kinds[i].class)
			return true;
	return false;
}

struct kube_amount kube_amount_read(const json_t *map,
                                    const struct conf_pool *pool, bool up)
{
	struct kube_amount a = { 0 };
	struct err err;
	int64_t bytes = 0, disk = 0;

	if (json_object_get(map, "cpu"))
		(void)kube_milli_of(json_object_get(map, "cpu"), &a.cpu_milli,
		                    &err);
	if (json_object_get(map, "memory"))
		(void)kube_whole_of(json_object_get(map, "memory"), &bytes,
		                    &err);
	if (json_object_get(map, "ephemeral-storage"))
		(void)kube_whole_of(json_object_get(map, "ephemeral-storage"),
		                    &disk, &err);
	if (json_object_get(map, pool->gpu_resource))
		(void)kube_whole_of(json_object_get(map, pool->gpu_resource),
		                    &a.gpus, &err);
	if (json_object_get(map, "pods"))
		(void)kube_whole_of(json_object_get(map, "pods"), &a.pods,
		                    &err);
	read_devs(map, pool, a.devs);
	kube_partition_read(map, a.parts);
	a.mem_mib = up ? kube_mib_up(bytes) : kube_mib_down(bytes);
	a.tmp_mib = up ? kube_mib_up(disk) : kube_mib_down(disk);
	return a;
}

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Combine two amounts, resource by resource. */
static struct kube_amount both(struct kube_amount a, struct kube_amount b,
                               int64_t (*fn)(int64_t a, int64_t b))
{
	struct kube_amount ret = { fn(a.cpu_milli, b.cpu_milli),
		                   fn(a.mem_mib, b.mem_mib),
		                   fn(a.gpus, b.gpus),
		                   fn(a.pods, b.pods),
		                   fn(a.tmp_mib, b.tmp_mib),
		                   { 0 },
		                   { 0 } };

	for (int i = 0; i < MIG_PROFILES_MOST; i++) {
		int64_t n = fn(a.parts[i], b.parts[i]);

		ret.parts[i] = n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
	}
	for (int i = 0; i < DEVICE_KINDS; i++)
		ret.devs[i] = fn(a.devs[i], b.devs[i]);
	return ret;
}

static struct kube_amount sum(struct kube_amount a, struct kube_amount b)
{
	return both(a, b, add);
}

static struct kube_amount most(struct kube_amount a, struct kube_amount b)
{
	return both(a, b, larger);
}

/* Returns what the container requests. A limit without a request counts as a
 * request, too: the API server fills in such requests in pods, but not in the
 * pod templates of Jobs. */
static struct kube_amount asked(const json_t *container,
                                const struct conf_pool *pool)
{
	const json_t *resources = json_object_get(container, "resources");
	const json_t *requests = json_object_get(resources, "requests");
	struct kube_amount a = kube_amount_read(requests, pool, true);
	struct kube_amount limit =
	    kube_amount_read(json_object_get(resources, "limits"), pool, true);

	if (!json_object_get(requests, "cpu"))
		a.cpu_milli = limit.cpu_milli;
	if (!json_object_get(requests, "memory"))
		a.mem_mib = limit.mem_mib;
	if (!json_object_get(requests, "ephemeral-storage"))
		a.tmp_mib = limit.tmp_mib;
	if (!json_object_get(requests, pool->gpu_resource))
		a.gpus = limit.gpus;
	/* Requests for extended resources equal their limits. */
	for (int i = 0; i < MIG_PROFILES_MOST; i++)
		a.parts[i] = a.parts[i] ? a.parts[i] : limit.parts[i];
	for (int i = 0; i < DEVICE_KINDS; i++)
		a.devs[i] = a.devs[i] ? a.devs[i] : limit.devs[i];
	return a;
}

/* Returns the most that a pod uses at any time: either while its init
 * containers run, one after the other, or afterwards. Sidecars are init
 * containers that keep running. */
struct kube_amount kube_pod_use(const json_t *spec,
                                const struct conf_pool *pool)
{
	struct kube_amount run = { 0 }, stay = { 0 }, init = { 0 }, whole;
	const json_t *resources = json_object_get(spec, "resources");
	const json_t *c, *requests;
	size_t i;

	json_array_foreach(json_object_get(spec, "containers"), i, c)
		run = sum(run, asked(c, pool));
	json_array_foreach(json_object_get(spec, "initContainers"), i, c) {
		const char *restart = kube_text_at(c, "restartPolicy");
		struct kube_amount with = sum(stay, asked(c, pool));

		if (restart && !strcmp(restart, "Always"))
			stay = with;
		init = most(init, with);
	}
	run = most(sum(run, stay), init);
	/* A request of the pod as a whole replaces the sum of its containers.
	 * A limit of the pod without a request replaces it only if no container
	 * requests anything. */
	requests = json_object_get(resources, "requests");
	whole = asked(spec, pool);
	if (json_object_get(requests, "cpu") || !run.cpu_milli)
		run.cpu_milli = whole.cpu_milli;
	if (json_object_get(requests, "memory") || !run.mem_mib)
		run.mem_mib = whole.mem_mib;
	if (json_object_get(requests, "ephemeral-storage") || !run.tmp_mib)
		run.tmp_mib = whole.tmp_mib;
	run = sum(run, kube_amount_read(json_object_get(spec, "overhead"), pool,
	                                true));
	run.pods = 1;
	return run;
}

/* --- read the state of a pod --- */

static char *text(const json_t *obj, const char *path)
{
	struct kube_reader r = { .obj = obj };
	const char *s = kube_text(&r, path);

	return xstrdup(s ? s : "");
}

static int64_t seconds(const json_t *obj, const char *path)
{
	struct kube_reader r = { .obj = obj };

	return kube_time(&r, path) / 1000000;
}

static void replace(char **to, char *value)
{
	free(*to);
	*to = value;
}

static void read_ended(struct kube_pod *pod, const json_t *ended)
{
	struct kube_reader r = { .obj = ended };
	char *reason = text(ended, "reason");
	struct kube_last last;

	pod->ended = pod->ran = true;
	pod->exit_code = (int)kube_int(&r, "exitCode", 0);
	/* A process of the container was killed for lack of memory, even if the
	 * script went on and succeeded. */
	pod->oom = !strcmp(reason, "OOMKilled");
	pod->start = seconds(ended, "startedAt");
	pod->end = seconds(ended, "finishedAt");
	kube_last_read(kube_text_at(ended, "message"), &last);
	if (last.unable)
		replace(&pod->unable, last.unable);
	if (last.steps)
		replace(&pod->steps, last.steps);
	pod->cpu_ms = last.cpu_ms;
	pod->peak_kib = last.peak_kib;
	free(reason);
}

static void read_container(struct kube_pod *pod, const json_t *status)
{
	const json_t *state = json_object_get(status, "state");
	const json_t *running = json_object_get(state, "running");
	const json_t *ended = json_object_get(state, "terminated");
	const json_t *waits = json_object_get(state, "waiting");

	if (ended) {
		read_ended(pod, ended);
	} else if (running) {
		pod->ran = true;
		pod->start = seconds(running, "startedAt");
	} else if (waits) {
		replace(&pod->waits, text(waits, "reason"));
		replace(&pod->waits_why, text(waits, "message"));
	}
}

/* If the main container waits for the init container that installs the agent,
 * and that one waits, too, report the init container's reason. */
static void read_init(struct kube_pod *pod, const json_t *status)
{
	const json_t *waits =
	    json_object_get(json_object_get(status, "state"), "waiting");

	if (strcmp(pod->waits, "PodInitializing") != 0 || !waits)
		return;
	replace(&pod->waits, text(waits, "reason"));
	replace(&pod->waits_why, text(waits, "message"));
}

static enum kube_phase read_phase(const json_t *status)
{
	static const char *const names[] = { [POD_PENDING] = "Pending",
		                             [POD_RUNNING] = "Running",
		                             [POD_SUCCEEDED] = "Succeeded",
		                             [POD_FAILED] = "Failed" };
	const char *phase = kube_text_at(status, "phase");

	for (size_t i = 0; phase && i < ARRAY_SIZE(names); i++)
		if (!strcmp(phase, names[i]))
			return (enum kube_phase)i;
	return POD_PENDING;
}

static char *read_owner(const json_t *meta)
{
	const json_t *ref;
	size_t i;

	json_array_foreach(json_object_get(meta, "ownerReferences"), i, ref)
		if (json_is_true(json_object_get(ref, "controller")))
			return text(ref, "uid");
	return xstrdup("");
}

/* Whether the kubelet evicted the pod because it stored more than its limit, or
 * than that of one of its volumes. If the node itself has too little disk left,
 * the message begins with "The node was low on resource". */
static bool stored_too_much(const struct kube_pod *pod)
{
	static const char *const said[] = {
		"Pod ephemeral local storage usage exceeds",
		"exceeded its local ephemeral storage limit",
		"Usage of EmptyDir volume",
	};

	if (pod->phase != POD_FAILED || strcmp(pod->reason, "Evicted") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		if (strstr(pod->message, said[i]))
			return true;
	return false;
}

json_t *kube_pod_claims(const json_t *spec)
{
	json_t *list = NULL;
	const json_t *volume;
	size_t i;

	json_array_foreach(json_object_get(spec, "volumes"), i, volume) {
		const char *name = kube_text_at(
		    json_object_get(volume, "persistentVolumeClaim"),
		    "claimName");

		if (name && !list)
			list = json_array();
		if (name)
			json_array_append_new(list, json_string(name));
	}
	return list;
}

static bool is_disrupted(const json_t *status)
{
	const json_t *it;
	size_t i;

	json_array_foreach(json_object_get(status, "conditions"), i, it) {
		const char *type = kube_text_at(it, "type");
		const char *is = kube_text_at(it, "status");

		if (type && is && !strcmp(type, KUBE_DISRUPTED))
			return !strcmp(is, "True");
	}
	return false;
}

static bool has_note(const json_t *meta, const char *key)
{
	return json_object_get(json_object_get(meta, "annotations"), key) !=
	       NULL;
}

static char *read_note(const json_t *meta, const char *key)
{
	const char *s = kube_text_at(json_object_get(meta, "annotations"), key);

	return xstrdup(s ? s : "");
}

/* Returns the name of the main container, on the heap: as in kubectl, the one
 * that an annotation names, else the first. */
static char *read_main(const json_t *meta, const json_t *spec)
{
	char *named =
	    read_note(meta, "kubectl.kubernetes.io/default-container");
	const json_t *first =
	    json_array_get(json_object_get(spec, "containers"), 0);

	if (*named)
		return named;
	free(named);
	return text(first, "name");
}

/* Returns the number at this key of labels or annotations; -1: none. */
static int32_t read_count(const json_t *map, const char *key)
{
	const char *s = kube_text_at(map, key);
	char *end;
	long n = s ? strtol(s, &end, 10) : -1;

	return s && *s && !*end && n >= 0 && n < INT32_MAX ? (int32_t)n : -1;
}

static int32_t read_index(const json_t *meta)
{
	return read_count(json_object_get(meta, "labels"),
	                  "batch.kubernetes.io/job-completion-index");
}

static int32_t read_fails(const json_t *meta)
{
	int32_t n = read_count(json_object_get(meta, "annotations"),
	                       "batch.kubernetes.io/job-index-failure-count");

	return n > 0 ? n : 0;
}

int kube_pod_read(json_t *obj, const struct conf_pool *pool,
                  struct kube_pod *ret, struct err *err)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *status = json_object_get(obj, "status");
	const json_t *list = json_object_get(status, "containerStatuses");
	const json_t *spec = json_object_get(obj, "spec");

	if (!json_is_string(json_object_get(meta, "name")) ||
	    !json_is_string(json_object_get(meta, "uid")))
		return err_set(err, EINVAL, "a pod without name or uid");
	*ret = (struct kube_pod){
		.namespace = text(meta, "namespace"),
		.name = text(meta, "name"),
		.uid = text(meta, "uid"),
		.owner = read_owner(meta),
		.node = text(spec, "nodeName"),
		.host = text(status, "hostIP"),
		.claims = kube_pod_claims(spec),
		.grants = kube_wanted_names(obj),
		.to_files = has_note(meta, KUBE_NOTE_FILES),
		.container = read_main(meta, spec),
		.leave = read_note(meta, KUBE_NOTE_LEAVE),
		.claim = text(status, "extendedResourceClaimStatus."
		                      "resourceClaimName"),
		.index = read_index(meta),
		.fails = read_fails(meta),
		.phase = read_phase(status),
		.deleting = json_object_get(meta, "deletionTimestamp") != NULL,
		.disrupted = is_disrupted(status),
		.reason = text(status, "reason"),
		.message = text(status, "message"),
		.waits = xstrdup(""),
		.waits_why = xstrdup(""),
		.unable = xstrdup(""),
		.steps = xstrdup(""),
		.use = kube_pod_use(spec, pool),
	};
	read_container(ret, json_array_get(list, 0));
	ret->out_of_disk = stored_too_much(ret);
	list = json_object_get(status, "initContainerStatuses");
	read_init(ret, json_array_get(list, 0));
	return 0;
}

void kube_pod_fini(struct kube_pod *pod)
{
	char *texts[] = { pod->namespace, pod->name,    pod->uid,
		          pod->owner,     pod->node,    pod->leave,
		          pod->reason,    pod->message, pod->waits,
		          pod->waits_why, pod->unable,  pod->container,
		          pod->steps,     pod->claim,   pod->host };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	json_decref(pod->claims);
	json_decref(pod->grants);
	*pod = (struct kube_pod){ 0 };
}

bool kube_pod_is_lost(const struct kube_pod *pod)
{
	/* A pod that we ended by its deadline has a reason, too, but is not
	 * lost. */
	return pod->phase == POD_FAILED && *pod->reason &&
	       strcmp(pod->reason, "DeadlineExceeded") != 0 && !pod->oom &&
	       !pod->out_of_disk;
}

bool kube_pod_is_refused(const struct kube_pod *pod)
{
	static const char *const words[] = { "TopologyAffinityError",
		                             "SMTAlignmentError",
		                             "UnexpectedAdmissionError" };

	if (pod->phase != POD_FAILED || pod->ran)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(pod->reason, words[i]))
			return true;
	/* "OutOf" and the resource of which the node has too little left */
	return !strncmp(pod->reason, "OutOf", strlen("OutOf"));
}

char *kube_pod_refusal(const struct kube_pod *pod)
{
	return xasprintf("node '%s' does not take pod %s: %s%s%s", pod->node,
	                 pod->name, *pod->reason ? pod->reason : "no reason",
	                 *pod->message ? ": " : "", pod->message);
}
