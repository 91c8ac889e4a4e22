/* standin.c - have the cluster's autoscaler add nodes, by pods that stand in */
#include "aischedd/run/kube/scale/standin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/ask.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/object/standin.h"
#include "aischedd/run/kube/scale/provide.h"
#include "aischedd/run/kube/scale/room.h"
#include "aischedd/run/kube/scale/standin_job.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

struct standin_pod {
	char *name, *uid;
	bool bound, told, asking;
	int64_t rest_ms;
};

struct standin_call {
	TAILQ_ENTRY(standin_call) of_list;
	struct kube *kube;
	enum standin_kind kind;
	uint64_t key; /* in the map of Jobs or pods */
};

/* --- what is known -------------------------------------------------------- */

static struct standin_job *find(struct kube *kube, const char *scale)
{
	return map_find(&kube->standins.jobs, kube_text_key(scale));
}

static struct standin_job *intern(struct kube *kube, const char *scale)
{
	struct standin_job *j = find(kube, scale);

	if (j)
		return j;
	j = xcalloc(1, sizeof(*j));
	j->scale = xstrdup(scale);
	map_set(&kube->standins.jobs, kube_text_key(scale), j);
	return j;
}

static void job_free(struct standin_job *j)
{
	json_decref(j->want);
	free(j->scale);
	free(j->uid);
	free(j->shape);
	free(j);
}

static void is_gone(struct standin_job *j)
{
	text_set(&j->uid, NULL);
	text_set(&j->shape, NULL);
	j->deleting = false;
	j->request = (struct standin_request){ .conf = j->request.conf };
}

static void pod_free(struct standin_pod *p)
{
	free(p->name);
	free(p->uid);
	free(p);
}

static void pods_forget(struct kube *kube)
{
	struct standin_pod *p;
	size_t at = 0;

	while ((p = map_each(&kube->standins.pods, &at)))
		pod_free(p);
	map_free(&kube->standins.pods);
}

static void call_free(struct standin_call *call)
{
	TAILQ_REMOVE(&call->kube->standins.calls, call, of_list);
	free(call);
}

void kube_standin_init(struct kube *kube)
{
	TAILQ_INIT(&kube->standins.calls);
}

void kube_standin_free(struct kube *kube)
{
	struct standin_call *call;
	struct standin_job *j;
	size_t at = 0;

	while ((call = TAILQ_FIRST(&kube->standins.calls)))
		call_free(call);
	while ((j = map_each(&kube->standins.jobs, &at)))
		job_free(j);
	map_free(&kube->standins.jobs);
	pods_forget(kube);
}

/* --- calls ---------------------------------------------------------------- */

static const char *namespace_of(const struct kube *kube)
{
	return kube->spaces.s[0]->name;
}

static kube_done_fn on_answer; /* below: it makes the next call */

/* Send a call; takes body. key: in the map of Jobs or pods. name: NULL, to make
 * the object. */
static void ask(struct kube *kube, enum standin_kind kind, uint64_t key,
                const char *name, json_t *body)
{
	static const struct {
		enum kube_method method;
		enum kube_rank rank;
		const char *group, *list, *end;
	} how[] = {
		[STANDIN_MAKE] = { KUBE_POST, KUBE_START, "/apis/batch/v1",
		                   "/jobs", "" },
		[STANDIN_COUNT] = { KUBE_MERGE, KUBE_START, "/apis/batch/v1",
		                    "/jobs", "" },
		[STANDIN_DELETE] = { KUBE_DELETE, KUBE_CLEAN, "/apis/batch/v1",
		                     "/jobs", "" },
		[STANDIN_TEMPLATE] = { KUBE_POST, KUBE_START, "/api/v1",
		                       "/podtemplates", "" },
		[STANDIN_REQUEST] = { KUBE_POST, KUBE_START,
		                      "/apis/autoscaling.x-k8s.io/v1",
		                      "/provisioningrequests", "" },
		[STANDIN_LOOK] = { KUBE_GET, KUBE_START,
		                   "/apis/autoscaling.x-k8s.io/v1",
		                   "/provisioningrequests", "" },
		[STANDIN_TELL] = { KUBE_STRATEGIC, KUBE_START, "/api/v1",
		                   "/pods", "/status" },
		[STANDIN_UNBIND] = { KUBE_DELETE, KUBE_STOP, "/api/v1", "/pods",
		                     "" },
	};
	struct standin_call *call = xcalloc(1, sizeof(*call));
	struct buf path = { 0 };

	*call = (struct standin_call){ .kube = kube, .kind = kind, .key = key };
	TAILQ_INSERT_TAIL(&kube->standins.calls, call, of_list);
	buf_printf(&path, "%s/namespaces", how[kind].group);
	kube_path_name(&path, namespace_of(kube));
	buf_puts(&path, how[kind].list);
	if (name)
		kube_path_name(&path, name);
	buf_puts(&path, how[kind].end);
	kube_lease_send(kube->lease, &path, body,
	                &(struct kube_request){ .method = how[kind].method,
	                                        .rank = how[kind].rank,
	                                        .done = on_answer,
	                                        .arg = call });
}

void kube_standin_ask(struct kube *kube, struct standin_job *j,
                      enum standin_kind kind, const char *name, json_t *body)
{
	j->asking = true;
	ask(kube, kind, kube_text_key(j->scale), name, body);
}

static void ask_job(struct kube *kube, struct standin_job *j,
                    enum standin_kind kind, json_t *body)
{
	char name[KUBE_NAME_SIZE];

	kube_standin_name(name, kube->home.cluster, j->scale);
	kube_standin_ask(kube, j, kind, kind == STANDIN_MAKE ? NULL : name,
	                 body);
}

static void ask_pod(struct kube *kube, struct standin_pod *p,
                    enum standin_kind kind, json_t *body)
{
	p->asking = true;
	ask(kube, kind, kube_text_key(p->uid), p->name, body);
}

/* Returns how many pods the Job is to have. */
static uint32_t wanted(struct kube *kube, const struct standin_job *j)
{
	int64_t n;

	if (!j->want || !j->nodes)
		return 0;
	n = j->nodes + kube_room(kube, j->want, &j->size);
	return n < LIMIT_NODES ? (uint32_t)n : LIMIT_NODES;
}

static void make(struct kube *kube, struct standin_job *j, uint32_t n)
{
	json_t *obj = json_deep_copy(j->want);

	json_object_set_new(json_object_get(obj, "spec"), "parallelism",
	                    json_integer(j->request.conf ? 0 : n));
	ask_job(kube, j, STANDIN_MAKE, obj);
}

static bool has_shape(const struct standin_job *j)
{
	const json_t *meta = json_object_get(j->want, "metadata");

	return j->shape &&
	       !strcmp(j->shape,
	               kube_word_at(json_object_get(meta, "annotations"),
	                            KUBE_NOTE_SHAPE));
}

static bool may_act(const struct kube *kube)
{
	return kube->standins.told && kube->recovery.done &&
	       kube_lease_left_ms(kube->lease) &&
	       kube_space_is_known(kube->spaces.s[0]);
}

static void job_step(struct kube *kube, struct standin_job *j)
{
	uint32_t n;

	if (j->asking || j->deleting || clock_boot_ms() < j->rest_ms)
		return;
	n = wanted(kube, j);
	if (!j->uid && n)
		make(kube, j, n);
	else if (j->uid && (!n || !has_shape(j)))
		ask_job(kube, j, STANDIN_DELETE,
		        kube_object_deletion(j->uid, -1));
	else if (j->uid && j->request.conf)
		kube_provide_step(kube, j, n);
	else if (j->uid && n != j->count)
		ask_job(kube, j, STANDIN_COUNT, kube_standin_count(j->uid, n));
}

static void pod_step(struct kube *kube, struct standin_pod *p)
{
	if (p->asking || clock_boot_ms() < p->rest_ms)
		return;
	if (p->bound)
		ask_pod(kube, p, STANDIN_UNBIND,
		        kube_object_deletion(p->uid, 0));
	else if (!p->told)
		ask_pod(kube, p, STANDIN_TELL, kube_standin_tell(p->uid));
}

static bool is_forgotten(const struct standin_job *j)
{
	return !j->want && !j->uid && !j->asking;
}

/* Forget templates that are not configured and have no Job. */
static void sweep(struct kube *kube)
{
	struct standin_job *j, *gone;
	size_t at;

	do {
		at = 0;
		while ((gone = map_each(&kube->standins.jobs, &at)) &&
		       !is_forgotten(gone))
			;
		if (gone) {
			j = map_del(&kube->standins.jobs,
			            kube_text_key(gone->scale));
			job_free(j);
		}
	} while (gone);
}

void kube_standin_step(struct kube *kube)
{
	struct standin_job *j;
	struct standin_pod *p;
	size_t at = 0;

	if (!may_act(kube))
		return;
	while ((j = map_each(&kube->standins.jobs, &at)))
		job_step(kube, j);
	at = 0;
	while ((p = map_each(&kube->standins.pods, &at)))
		pod_step(kube, p);
	sweep(kube);
}

/* Whether a template of the list is added by ProvisioningRequests. */
static bool provide(const struct run_standin *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].conf->by == SCALE_PROVISIONING)
			return true;
	return false;
}

void kube_standin_want(struct runner *r, size_t n,
                       const struct run_standin *list)
{
	struct kube *kube = kube_of(r);
	struct standin_job *j;
	size_t at = 0;

	while ((j = map_each(&kube->standins.jobs, &at))) {
		json_decref(j->want);
		j->want = NULL;
		j->request.conf = NULL;
		j->nodes = 0;
	}
	for (size_t i = 0; i < n; i++) {
		j = intern(kube, list[i].conf->name);
		j->want = kube_standin_job(&kube->home, &list[i]);
		j->nodes = list[i].n;
		if (list[i].conf->by == SCALE_PROVISIONING)
			j->request.conf = list[i].conf;
		j->size = kube_standin_size(j->want, kube->pool);
	}
	/* Before, nodes that are there may not have been seen. */
	kube->standins.told = kube->recovery.done;
	kube->standins.trouble.code = 0; /* calls that fail say so again */
	if (!provide(list, n))
		kube->standins.refused.code = 0;
	kube_standin_step(kube);
}

/* --- answers -------------------------------------------------------------- */

static void job_shown(struct standin_job *j, const json_t *obj)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *spec = json_object_get(obj, "spec");

	text_set(&j->uid, kube_text_at(meta, "uid"));
	text_set(&j->shape, kube_text_at(json_object_get(meta, "annotations"),
	                                 KUBE_NOTE_SHAPE));
	j->count =
	    (uint32_t)json_integer_value(json_object_get(spec, "parallelism"));
	j->deleting = json_object_get(meta, "deletionTimestamp") != NULL;
	j->marked = j->existed = false;
}

/* Whether the failure is only that the object is not as it was when the call
 * was made: the watch shows how it is. */
static bool is_stale(const struct err *err)
{
	return err->code == ENOENT || err->code == ESTALE;
}

static void job_answered(struct kube *kube, struct standin_job *j,
                         enum standin_kind kind,
                         const struct kube_answer *answer)
{
	const struct err *err = answer->err;

	j->asking = false;
	if (!err && kind == STANDIN_DELETE)
		j->deleting = j->uid != NULL; /* or the watch was faster */
	else if (!err)
		job_shown(j, answer->body);
	else if (err->code == ENOENT ||
	         (kind == STANDIN_DELETE && is_stale(err)))
		is_gone(j);
	else
		j->rest_ms = clock_boot_ms() + KUBE_REST_MS;
	/* The name may be that of the Job before, which is being deleted. */
	if (err && err->code == EEXIST && !j->existed)
		j->existed = true;
	else if (err && !is_stale(err))
		kube->standins.trouble = *err;
}

static void pod_answered(struct kube *kube, struct standin_pod *p,
                         enum standin_kind kind,
                         const struct kube_answer *answer)
{
	const struct err *err = answer->err;

	p->asking = false;
	if (err)
		p->rest_ms = clock_boot_ms() + KUBE_REST_MS;
	else if (kind == STANDIN_TELL)
		p->told = kube_standin_is_told(answer->body);
	if (err && !is_stale(err))
		kube->standins.trouble = *err;
}

static bool is_about_pod(enum standin_kind kind)
{
	return kind == STANDIN_TELL || kind == STANDIN_UNBIND;
}

static bool is_about_request(enum standin_kind kind)
{
	return kind == STANDIN_TEMPLATE || kind == STANDIN_REQUEST ||
	       kind == STANDIN_LOOK;
}

static void on_answer(const struct kube_answer *answer, void *arg)
{
	struct standin_call *call = arg;
	struct kube *kube = call->kube;
	enum standin_kind kind = call->kind;
	uint64_t key = call->key;
	struct standin_pod *p;
	struct standin_job *j;

	call_free(call);
	if (!answer->err)
		kube->standins.trouble.code = 0;
	else if (kind == STANDIN_LOOK && answer->err->code != ENOENT)
		kube->standins.trouble = *answer->err;
	p = is_about_pod(kind) ? map_find(&kube->standins.pods, key) : NULL;
	j = is_about_pod(kind) ? NULL : map_find(&kube->standins.jobs, key);
	if (p)
		pod_answered(kube, p, kind, answer);
	if (j && !is_about_request(kind))
		job_answered(kube, j, kind, answer);
	else if (j)
		kube_provide_answered(kube, j, kind, answer);
	/* A Job that was changed meanwhile needs another call; a failed one
	 * waits for the tick. */
	if (j && !answer->err && may_act(kube))
		job_step(kube, j);
}

bool kube_standin_any(const struct kube *kube)
{
	const struct standin_job *j;
	size_t at = 0;

	while ((j = map_each(&kube->standins.jobs, &at)))
		if (j->uid)
			return true;
	return false;
}

/* --- what the watches report ---------------------------------------------- */

bool kube_standin_job_seen(struct kube_space *space, const json_t *obj,
                           bool deleted)
{
	struct kube *kube = space->kube;
	const char *scale = kube_standin_is(obj, &kube->home);
	const json_t *meta = json_object_get(obj, "metadata");
	const char *uid = kube_text_at(meta, "uid");
	char name[KUBE_NAME_SIZE];
	struct standin_job *j;

	if (!scale)
		return false;
	kube_standin_name(name, kube->home.cluster, scale);
	if (!*scale || !uid || space != kube->spaces.s[0] ||
	    strcmp(kube_word_at(meta, "name"), name) != 0)
		return true; /* it is of others, who may have copied labels */
	j = intern(kube, scale);
	if (!deleted)
		job_shown(j, obj);
	else if (j->uid && !strcmp(j->uid, uid))
		is_gone(j);
	if (may_act(kube))
		job_step(kube, j);
	return true;
}

void kube_standin_jobs_news(struct kube_space *space, enum kube_news news)
{
	struct kube *kube = space->kube;
	struct standin_job *j;
	size_t at = 0;

	if (space != kube->spaces.s[0] ||
	    (news != KUBE_RESET && news != KUBE_SYNCED))
		return;
	while ((j = map_each(&kube->standins.jobs, &at))) {
		if (news == KUBE_SYNCED && j->marked)
			is_gone(j);
		j->marked = news == KUBE_RESET;
	}
}

bool kube_standin_pod_seen(struct kube *kube, const json_t *obj,
                           const struct kube_pod *pod, bool deleted)
{
	const char *scale = kube_standin_is(obj, &kube->home);
	struct standin_pod *p;
	uint64_t key;

	if (!scale || !*scale ||
	    strcmp(pod->namespace, namespace_of(kube)) != 0)
		return false;
	key = kube_text_key(pod->uid);
	p = map_find(&kube->standins.pods, key);
	if (deleted || pod->deleting || kube_pod_is_over(pod)) {
		if (p)
			pod_free(map_del(&kube->standins.pods, key));
		return true;
	}
	if (!p) {
		p = xcalloc(1, sizeof(*p));
		p->name = xstrdup(pod->name);
		p->uid = xstrdup(pod->uid);
		map_set(&kube->standins.pods, key, p);
	}
	p->bound = *pod->node;
	p->told = kube_standin_is_told(obj);
	if (may_act(kube))
		pod_step(kube, p);
	return true;
}

void kube_standin_pods_news(struct kube *kube, enum kube_news news)
{
	if (news == KUBE_RESET)
		pods_forget(kube);
}
