/* make.c - the objects of an attempt are made, its pods bound */
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/call.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

void kube_attempt_make(struct kube_attempt *a)
{
	if (!a->uid) {
		if (!a->asking[ASK_JOB] && !a->asking[ASK_LOOK])
			kube_ask_job(a, ASK_JOB, json_incref(a->job));
		return;
	}
	if (a->secret && a->shared) {
		kube_shared_make(a);
	} else if (a->secret && !a->asking[ASK_SECRET]) {
		kube_object_own(a->secret, a->name, a->uid);
		kube_ask_job(a, ASK_SECRET, json_incref(a->secret));
	}
	if (a->indexes > a->have && !a->asking[ASK_INDEXES])
		kube_ask_job(a, ASK_INDEXES,
		             kube_object_indexes(a->uid, a->indexes));
}

void kube_attempt_publish(struct kube_attempt *a)
{
	if (!a->service || !a->uid || a->asking[ASK_SERVICE])
		return;
	kube_object_own(a->service, a->name, a->uid);
	kube_ask_job(a, ASK_SERVICE, json_incref(a->service));
}

static bool may_bind(const struct kube_task *task)
{
	return task && !kube_task_is_bound(task) && !task->pod.deleting &&
	       !kube_pod_is_over(&task->pod);
}

bool kube_attempt_is_made(struct kube_attempt *a)
{
	for (uint32_t i = 0; i < a->nslots; i++)
		if (!kube_task_at(a, a->slot[i].index) && !a->slot[i].seen)
			return false;
	return true;
}

void kube_attempt_bind(struct kube_attempt *a)
{
	const char *namespace = a->kube->pool->namespace;

	if (!a->uid || a->secret)
		return;
	if (!kube_attempt_is_made(a))
		return;
	for (uint32_t i = 0; i < a->nslots; i++) {
		struct kube_task *task = kube_task_at(a, a->slot[i].index);

		if (!may_bind(task))
			continue;
		task->binding = true;
		kube_ask_pod(a, ASK_BIND, task,
		             kube_object_binding(namespace, task->pod.name,
		                                 task->pod.uid,
		                                 a->slot[i].node));
	}
}

/* --- answers --- */

static bool is_worth_another(const struct err *err)
{
	return err->code == ETIMEDOUT || err->code == EAGAIN ||
	       err->code == EIO || err->code == ESTALE;
}

static void refused(struct kube_attempt *a, const struct err *err)
{
	if (is_worth_another(err))
		return; /* the tick asks again */
	kube_attempt_fail(a,
	                  err->code == EINVAL || err->code == EMSGSIZE
	                      ? FAULT_USER
	                      : FAULT_POOL,
	                  err->text);
}

/* Of what has started.  What is there and not allowed may be some day; what
 * is not there any more the watch tells. */
static bool is_to_rest(struct kube_attempt *a, const struct err *err)
{
	if (!err || err->code == ENOENT || is_worth_another(err))
		return false;
	a->rest_ms = clock_boot_ms() + KUBE_REST_MS;
	kube_attempt_note(a, err->text);
	return true;
}

static void have_job(struct kube_attempt *a, json_t *obj)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *uid = kube_text_at(meta, "uid");
	const json_t *spec = json_object_get(obj, "spec");
	struct kube_owner owner;

	if (!uid || !kube_object_is_ours(obj, &a->kube->home, &owner) ||
	    owner.job != a->id.job || owner.attempt != a->id.attempt) {
		char *text = xasprintf("Job '%s' in namespace '%s' exists and "
		                       "is not ours: delete it",
		                       a->name, a->kube->pool->namespace);

		kube_attempt_fail(a, FAULT_POOL, text);
		free(text);
		return;
	}
	kube_attempt_set_uid(a, uid);
	a->have =
	    (uint32_t)json_integer_value(json_object_get(spec, "completions"));
	json_decref(a->job);
	a->job = NULL;
}

static void on_object(struct kube_attempt *a, enum ask_kind kind,
                      const struct kube_answer *answer)
{
	json_t **obj = kind == ASK_SECRET ? &a->secret : &a->service;

	/* Its name is ours alone: it is the one of a call before. */
	if (answer->err && answer->err->code != EEXIST) {
		if (a->started)
			is_to_rest(a, answer->err);
		else
			refused(a, answer->err);
		return;
	}
	json_decref(*obj);
	*obj = NULL;
}

static void on_bound(struct kube_attempt *a, struct kube_task *task,
                     const struct err *err)
{
	if (!err)
		return;
	if (err->code == ENOENT || err->code == ESTALE) {
		/* It is gone, or bound: the watch says which. */
		if (task && err->code == ENOENT)
			task->binding = false;
		return;
	}
	if (task)
		task->binding = false;
	refused(a, err);
}

void kube_attempt_answered(struct kube_attempt *a, enum ask_kind kind,
                           struct kube_task *task,
                           const struct kube_answer *answer)
{
	const struct err *err = answer->err;

	a->asking[kind]--;
	switch (kind) {
	case ASK_JOB:
	case ASK_LOOK:
		if (!err)
			have_job(a, answer->body);
		else if (kind == ASK_JOB && err->code == EEXIST)
			kube_ask_job(a, ASK_LOOK, NULL);
		else if (kind == ASK_JOB || err->code != ENOENT)
			refused(a, err);
		break;
	case ASK_SECRET:
	case ASK_SERVICE:
		on_object(a, kind, answer);
		break;
	case ASK_INDEXES:
		if (!is_to_rest(a, err) && !err)
			a->have = a->indexes;
		break;
	case ASK_BIND:
		on_bound(a, task, err);
		break;
	case ASK_LEAVE:
		if (task &&
		    (is_to_rest(a, err) || (err && is_worth_another(err))))
			task->leaving = false;
		break;
	case ASK_FORCE:
		if (task && (is_to_rest(a, err) || err))
			task->forced = false;
		break;
	case ASK_DELETE:
		is_to_rest(a, err);
		if (!err || err->code == ENOENT)
			a->job_gone = true;
		break;
	case ASK_WHY:
	case ASK_UNSHARE:
	case ASK_REMOVE:
	case ASK_KINDS:
		break;
	}
	if (!err)
		kube_attempt_note(a, NULL);
	/* What was refused is asked for again by the tick, not at once. */
	if (!err || err->code == EEXIST || a->fault.code || a->over)
		kube_attempt_touch(a);
}
