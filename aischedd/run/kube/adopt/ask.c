/* ask.c - make calls about Jobs made with kubectl, and handle the answers */
#include "aischedd/run/kube/adopt/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/adopt/end.h"
#include "aischedd/run/kube/adopt/give.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/plain.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

/* A call in progress. */
struct adopt_call {
	TAILQ_ENTRY(adopt_call) of_list;
	struct kube *kube;
	enum kube_adopt_kind kind;
	/* uid of the Job; uid of the pod, or name of the ResourceClaim, that
	 * the call is about, or NULL */
	char *uid, *pod, *claim;
};

static const struct {
	enum kube_method method;
	enum kube_rank rank;
	bool pod;
	const char *sub;
} calls[ADOPT_KINDS] = {
	[ADOPT_CLAIM] = { KUBE_MERGE, KUBE_START, false, "" },
	[ADOPT_RESUME] = { KUBE_MERGE, KUBE_START, false, "" },
	[ADOPT_SUSPEND] = { KUBE_MERGE, KUBE_STOP, false, "" },
	[ADOPT_EXPIRE] = { KUBE_MERGE, KUBE_STOP, false, "" },
	[ADOPT_DELETE] = { KUBE_DELETE, KUBE_STOP, false, "" },
	[ADOPT_VOLUME] = { KUBE_MERGE, KUBE_START, false, "" },
	[ADOPT_GRANT_TAKE] = { KUBE_MERGE, KUBE_START, false, "" },
	[ADOPT_GRANT_FILL] = { KUBE_PUT, KUBE_START, false, "/status" },
	[ADOPT_GRANT_FREE] = { KUBE_PUT, KUBE_STOP, false, "/status" },
	[ADOPT_BIND] = { KUBE_POST, KUBE_START, true, "/binding" },
	[ADOPT_FORCE] = { KUBE_DELETE, KUBE_STOP, true, "" },
};

static bool is_of_grant(enum kube_adopt_kind kind)
{
	return kind == ADOPT_GRANT_TAKE || kind == ADOPT_GRANT_FILL ||
	       kind == ADOPT_GRANT_FREE;
}

bool kube_adopt_ask_is_open(const struct kube_adoptee *j)
{
	for (int i = 0; i < ADOPT_KINDS; i++)
		if (j->asking[i])
			return true;
	return false;
}

static void call_free(struct adopt_call *call)
{
	TAILQ_REMOVE(&call->kube->adopt.calls, call, of_list);
	free(call->uid);
	free(call->pod);
	free(call->claim);
	free(call);
}

void kube_adopt_ask_free_all(struct kube *kube)
{
	struct adopt_call *call;

	while ((call = TAILQ_FIRST(&kube->adopt.calls)))
		call_free(call);
}

/* --- handle answers --- */

/* Handle the answer to binding a pod. If the pod is gone or already bound, the
 * watch reports that. If a rule of the cluster forbids the binding, the attempt
 * fails. */
static void on_bound(struct kube_adoptee *j, struct kube_adopt_pod *p,
                     const struct err *err)
{
	if (!err || !p || err->code == ESTALE)
		return;
	p->binding = false;
	if (err->code == EPERM || err->code == EINVAL)
		kube_adopt_end_fail(j, FAULT_POOL, err->text);
}

static void on_refused(struct kube_adoptee *j, enum kube_adopt_kind kind,
                       const struct err *err)
{
	/* Somebody else has changed or deleted the object: the watch reports
	 * that. */
	if (err->code == ESTALE || err->code == ENOENT)
		return;
	if (kind == ADOPT_CLAIM || kind == ADOPT_RESUME || kind == ADOPT_VOLUME)
		kube_note(j, true, "Refused", err->text);
	if (kind == ADOPT_RESUME || kind == ADOPT_VOLUME)
		kube_adopt_end_fail(j, FAULT_POOL, err->text);
}

/* Update the state of the Job, or pod, from the answer to a PATCH. */
static void look(struct kube_adoptee *j, json_t *body)
{
	json_t *job = j->at.plain ? kube_plain_job(body) : json_incref(body);

	kube_adopt_look(j, job);
	json_decref(job);
}

static void on_answer(const struct kube_answer *answer, void *arg)
{
	struct adopt_call *call = arg;
	struct kube_adoptee *j = kube_adopt_find(call->kube, call->uid);
	const struct err *err = answer->err;
	struct kube_adopt_pod *p =
	    j && call->pod ? kube_adopt_pod_find(j, call->pod) : NULL;
	enum kube_adopt_kind kind = call->kind;
	char *claim = call->claim;

	call->claim = NULL;
	call_free(call);
	if (!j) {
		free(claim);
		return;
	}
	j->asking[kind]--;
	if (claim)
		kube_adopt_give_answered(j, claim, err);
	else if (kind == ADOPT_BIND)
		on_bound(j, p, err);
	else if (kind == ADOPT_FORCE && err && p)
		p->forced = false;
	else if (kind == ADOPT_DELETE && err && err->code == ENOENT)
		j->gone = true;
	else if (err)
		on_refused(j, kind, err);
	else if (kind == ADOPT_VOLUME)
		kube_claims_answered(j->kube, answer->body);
	else if (kind != ADOPT_DELETE && !calls[kind].pod)
		look(j, answer->body);
	free(claim);
	/* After an error do not step the Job at once: the next tick repeats the
	 * call. */
	if (!err)
		kube_adopt_step(j);
}

/* --- make calls --- */

/* Send a call about the object `name`. api, what: such as "/apis/batch/v1" and
 * "/jobs". Takes body. */
static void send_call(struct kube_adoptee *j, enum kube_adopt_kind kind,
                      const struct kube_adopt_pod *pod, const char *api,
                      const char *what, const char *name, json_t *body)
{
	struct adopt_call *call;
	struct kube *kube = j->kube;
	struct buf path = { 0 };

	if (!j->space) { /* no watch has reported the Job */
		json_decref(body);
		return;
	}
	call = xcalloc(1, sizeof(*call));
	call->kube = kube;
	call->kind = kind;
	call->uid = xstrdup(j->at.uid);
	call->pod = pod ? xstrdup(pod->pod.uid) : NULL;
	call->claim = is_of_grant(kind) ? xstrdup(name) : NULL;
	TAILQ_INSERT_TAIL(&kube->adopt.calls, call, of_list);
	j->asking[kind]++;
	buf_printf(&path, "%s/namespaces", api);
	kube_path_name(&path, j->space->name);
	buf_puts(&path, what);
	kube_path_name(&path, name);
	buf_puts(&path, calls[kind].sub);
	kube_lease_send(kube->lease, &path, body,
	                &(struct kube_request){ .method = calls[kind].method,
	                                        .rank = calls[kind].rank,
	                                        .done = on_answer,
	                                        .arg = call });
}

void kube_adopt_ask(struct kube_adoptee *j, enum kube_adopt_kind kind,
                    json_t *body)
{
	if (j->asking[kind])
		json_decref(body);
	else if (j->at.plain)
		send_call(j, kind, NULL, "/api/v1", "/pods", j->at.name, body);
	else
		send_call(j, kind, NULL, "/apis/batch/v1", "/jobs", j->at.name,
		          body);
}

void kube_adopt_ask_pod(struct kube_adopt_pod *p, enum kube_adopt_kind kind,
                        json_t *body)
{
	send_call(p->of, kind, p, "/api/v1", "/pods", p->pod.name, body);
}

void kube_adopt_ask_grant(struct kube_adoptee *j, enum kube_adopt_kind kind,
                          const char *claim, json_t *body)
{
	send_call(j, kind, NULL, "/apis/resource.k8s.io/v1", "/resourceclaims",
	          claim, body);
}

void kube_adopt_ask_volume(struct kube_adoptee *j, const char *claim,
                           json_t *body)
{
	if (j->asking[ADOPT_VOLUME])
		json_decref(body);
	else
		send_call(j, ADOPT_VOLUME, NULL, "/api/v1",
		          "/persistentvolumeclaims", claim, body);
}
