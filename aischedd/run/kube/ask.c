/* ask.c - make calls for attempts, and pass on the answers */
#include "aischedd/run/kube/ask.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/answer.h"
#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/jobs.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/shared.h"
#include "aischedd/run/kube/space/ports.h"
#include "aischedd/run/kube/why.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

/* A call in progress. */
struct kube_ask {
	TAILQ_ENTRY(kube_ask) of_list;
	struct kube *kube;
	struct kube_space *space;
	enum kube_ask_kind kind;
	struct kube_owner owner;
	/* the uid of the pod, or the name of the Job or shared Secret, that the
	 * call is about; or NULL */
	char *of;
};

/* Method, urgency and path of each call. one: the path ends in the name of an
 * object; false: the path is that of the collection. */
static const struct call_form {
	enum kube_method method;
	enum kube_rank rank;
	const char *api, *kind, *sub;
	bool one;
} calls[ASK_KINDS] = {
	[ASK_JOB] = { KUBE_POST, KUBE_START, "/apis/batch/v1", "/jobs", "",
	              false },
	[ASK_LOOK] = { KUBE_GET, KUBE_START, "/apis/batch/v1", "/jobs", "",
	               true },
	[ASK_SECRET] = { KUBE_POST, KUBE_START, "/api/v1", "/secrets", "",
	                 false },
	[ASK_UNSHARE] = { KUBE_DELETE, KUBE_CLEAN, "/api/v1", "/secrets", "",
	                  true },
	[ASK_SERVICE] = { KUBE_POST, KUBE_START, "/api/v1", "/services", "",
	                  false },
	[ASK_POLICY] = { KUBE_POST, KUBE_START, "/apis/networking.k8s.io/v1",
	                 "/networkpolicies", "", false },
	[ASK_PORTS] = { KUBE_POST, KUBE_START, "/api/v1", "/services", "",
	                false },
	[ASK_PORTS_LOOK] = { KUBE_GET, KUBE_START, "/api/v1", "/services", "",
	                     true },
	[ASK_PORTS_LIST] = { KUBE_GET, KUBE_CLEAN, "/api/v1", "/services", "",
	                     false },
	[ASK_UNPORTS] = { KUBE_DELETE, KUBE_CLEAN, "/api/v1", "/services", "",
	                  true },
	[ASK_INDEXES] = { KUBE_MERGE, KUBE_START, "/apis/batch/v1", "/jobs", "",
	                  true },
	[ASK_CLAIM] = { KUBE_MERGE, KUBE_START, "/api/v1",
	                "/persistentvolumeclaims", "", true },
	[ASK_GRANT] = { KUBE_POST, KUBE_START, "/apis/resource.k8s.io/v1",
	                "/resourceclaims", "", false },
	[ASK_GRANT_KEEP] = { KUBE_MERGE, KUBE_START, "/apis/resource.k8s.io/v1",
	                     "/resourceclaims", "", true },
	[ASK_GRANT_FILL] = { KUBE_PUT, KUBE_START, "/apis/resource.k8s.io/v1",
	                     "/resourceclaims", "/status", true },
	[ASK_GRANT_MAP] = { KUBE_MERGE, KUBE_START, "/api/v1", "/pods",
	                    "/status", true },
	[ASK_GRANT_DROP] = { KUBE_DELETE, KUBE_START,
	                     "/apis/resource.k8s.io/v1", "/resourceclaims", "",
	                     true },
	[ASK_GRANT_STIR] = { KUBE_MERGE, KUBE_CLEAN, "/apis/resource.k8s.io/v1",
	                     "/resourceclaims", "", true },
	[ASK_BIND] = { KUBE_POST, KUBE_START, "/api/v1", "/pods", "/binding",
	               true },
	[ASK_LEAVE] = { KUBE_MERGE, KUBE_STOP, "/api/v1", "/pods", "", true },
	[ASK_LOSE] = { KUBE_MERGE, KUBE_STOP, "/api/v1", "/pods", "/status",
	               true },
	[ASK_DELETE] = { KUBE_DELETE, KUBE_STOP, "/apis/batch/v1", "/jobs", "",
	                 true },
	[ASK_FORCE] = { KUBE_DELETE, KUBE_STOP, "/api/v1", "/pods", "", true },
	[ASK_WHY] = { KUBE_GET, KUBE_READ, "/api/v1", "/events", "", false },
	[ASK_REMOVE] = { KUBE_DELETE, KUBE_CLEAN, "/apis/batch/v1", "/jobs", "",
	                 true },
};

static const struct kube_owner nobody;

/* how many Services are in a page of their list */
#define PORTS_PAGE "500"

static struct kube_task *task_of(struct kube *kube, const char *uid)
{
	return uid ? kube_pods_find(kube, uid) : NULL;
}

static void ask_free(struct kube_ask *ask)
{
	TAILQ_REMOVE(&ask->kube->asks.list, ask, of_list);
	free(ask->of);
	free(ask);
}

static void on_removed(struct kube_ask *ask, const struct kube_answer *answer)
{
	struct kube_job *job = kube_jobs_find(ask->space, ask->of);

	/* Nothing is left to do if the Job is gone or another Job has its name.
	 * After any other error, the next sweep repeats the DELETE. */
	if (job && answer->err && answer->err->code != ENOENT)
		kube_jobs_remove_later(job);
}

/* Store the error of a call that is refused until an admin acts: a permission
 * or the namespace is missing. The first error is kept until a call of this
 * kind in this namespace is no longer refused for such a reason. */
static void mind(struct kube_ask *ask, const struct kube_answer *answer)
{
	struct kube_refused *refusal = &ask->space->refused[ask->kind];
	bool missing = answer->code == 404 && ask->kind == ASK_JOB;

	/* a missing right to list Services is told to the jobs that need it */
	if (!answer->code || ask->kind == ASK_PORTS_LIST)
		return;
	if (answer->code != 403 && !missing) {
		refusal->err.code = 0;
		return;
	}
	refusal->ms = clock_boot_ms();
	if (!refusal->err.code) /* keep the first refusal */
		refusal->err = *answer->err;
}

static void on_shared(struct kube_ask *ask, const struct kube_answer *answer)
{
	struct kube_shared *shared =
	    map_find(&ask->kube->shared, kube_space_key(ask->space, ask->of));

	if (ask->kind == ASK_UNSHARE)
		kube_shared_gone(shared, answer->err);
	else
		kube_shared_made(shared, answer->err);
}

static bool is_of_ports(enum kube_ask_kind kind)
{
	return kind == ASK_PORTS || kind == ASK_PORTS_LOOK ||
	       kind == ASK_UNPORTS;
}

static void on_answer(const struct kube_answer *answer, void *arg)
{
	struct kube_ask *ask = arg;
	struct kube_attempt *a = kube_attempt_find(ask->kube, &ask->owner);

	mind(ask, answer);
	if (ask->kind == ASK_PORTS_LIST)
		kube_ports_listed(ask->space, answer);
	else if (is_of_ports(ask->kind))
		kube_ports_answered(ask->space, ask->of, a, ask->kind, answer);
	if (ask->kind == ASK_REMOVE)
		on_removed(ask, answer);
	else if (ask->kind == ASK_WHY)
		kube_why_told(ask->space, answer->body);
	else if (a)
		kube_answer_take(a, ask->kind, task_of(ask->kube, ask->of),
		                 answer);
	if (ask->kind == ASK_UNSHARE || (ask->kind == ASK_SECRET && ask->of))
		on_shared(ask, answer);
	ask_free(ask);
}

static void put_list_query(struct buf *path, const struct kube *kube,
                           const char *page)
{
	char *labels = xasprintf("%s=%s,%s", KUBE_LABEL_CLUSTER,
	                         kube->home.cluster, KUBE_LABEL_PORTS);

	kube_path_query(path, "labelSelector", labels);
	kube_path_query(path, "limit", PORTS_PAGE);
	if (page)
		kube_path_query(path, "continue", page);
	free(labels);
}

/* Make a call about an object. It is sent only while this daemon holds the
 * Lease. */
static void ask(struct kube_space *space, enum kube_ask_kind kind,
                const struct kube_owner *owner, const char *name,
                const char *of, json_t *body)
{
	const struct call_form *call = &calls[kind];
	struct kube_ask *ask = xcalloc(1, sizeof(*ask));
	struct kube *kube = space->kube;
	struct buf path = { 0 };

	ask->kube = kube;
	ask->space = space;
	ask->kind = kind;
	ask->owner = *owner;
	ask->of = of ? xstrdup(of) : NULL;
	TAILQ_INSERT_TAIL(&kube->asks.list, ask, of_list);
	buf_printf(&path, "%s/namespaces", call->api);
	kube_path_name(&path, space->name);
	buf_puts(&path, call->kind);
	if (call->one)
		kube_path_name(&path, name);
	buf_puts(&path, call->sub);
	if (kind == ASK_WHY)
		kube_path_query(&path, "fieldSelector",
		                "type=Warning,reason=FailedCreate");
	if (kind == ASK_PORTS_LIST)
		put_list_query(&path, kube, name);
	kube_lease_send(kube->lease, &path, body,
	                &(struct kube_request){ .method = call->method,
	                                        .rank = call->rank,
	                                        .done = on_answer,
	                                        .arg = ask });
}

bool kube_ask_is_open(const struct kube_attempt *a)
{
	for (int i = 0; i < ASK_KINDS; i++)
		if (a->calls.open[i])
			return true;
	return false;
}

void kube_ask_job(struct kube_attempt *a, enum kube_ask_kind kind, json_t *body)
{
	a->calls.open[kind]++;
	ask(a->space, kind, &a->id, a->name, NULL, body);
}

void kube_ask_why(struct kube_space *space)
{
	ask(space, ASK_WHY, &nobody, NULL, NULL, NULL);
}

void kube_ask_pod(struct kube_attempt *a, enum kube_ask_kind kind,
                  const struct kube_task *task, json_t *body)
{
	a->calls.open[kind]++;
	ask(a->space, kind, &a->id, task->pod.name, task->pod.uid, body);
}

void kube_ask_claim(struct kube_attempt *a, const char *claim, json_t *body)
{
	a->calls.open[ASK_CLAIM]++;
	ask(a->space, ASK_CLAIM, &a->id, claim, NULL, body);
}

void kube_ask_grant(struct kube_attempt *a, enum kube_ask_kind kind,
                    struct kube_task *task, const char *name, json_t *body)
{
	a->calls.open[kind]++;
	task->giving = true;
	ask(a->space, kind, &a->id, name, task->pod.uid, body);
}

void kube_ask_loose_grant(struct kube_space *space, enum kube_ask_kind kind,
                          const char *name, json_t *body)
{
	ask(space, kind, &nobody, name, NULL, body);
}

void kube_ask_remove(struct kube_job *job)
{
	job->removing = true;
	if (kube_shared_goes_first(job))
		return;
	ask(job->space, ASK_REMOVE, &job->owner, job->name, job->name,
	    kube_object_deletion(job->uid, -1));
}

void kube_ask_shared(struct kube_shared *shared, struct kube_attempt *a)
{
	shared->asking = true;
	if (!a) {
		ask(shared->space, ASK_UNSHARE, &nobody, shared->name,
		    shared->name, NULL);
		return;
	}
	a->calls.open[ASK_SECRET]++;
	ask(shared->space, ASK_SECRET, &a->id, NULL, shared->name,
	    json_incref(a->make.secret));
}

void kube_ask_ports(struct kube_ports *p, struct kube_attempt *a,
                    enum kube_ask_kind kind, json_t *body)
{
	p->asking = true;
	if (a)
		a->calls.open[kind]++;
	ask(p->space, kind, a ? &a->id : &nobody, p->name, p->name, body);
}

void kube_ask_ports_list(struct kube_space *space, const char *page)
{
	ask(space, ASK_PORTS_LIST, &nobody, page, NULL, NULL);
}

void kube_ask_free_all(struct kube *kube)
{
	struct kube_ask *ask;

	while ((ask = TAILQ_FIRST(&kube->asks.list)))
		ask_free(ask);
}
