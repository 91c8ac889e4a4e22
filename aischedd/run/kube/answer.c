/* answer.c - apply the answers to calls about an attempt */
#include "aischedd/run/kube/answer.h"

#include <errno.h>
#include <stdlib.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/jobs.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

bool kube_answer_is_passing(const struct err *err)
{
	return err->code == ETIMEDOUT || err->code == EAGAIN ||
	       err->code == EIO || err->code == ESTALE;
}

static void refused(struct kube_attempt *a, const struct err *err)
{
	if (kube_answer_is_passing(err))
		return; /* the next step makes the call again */
	kube_end_fail(a,
	              err->code == EINVAL || err->code == EMSGSIZE ? FAULT_USER
	                                                           : FAULT_POOL,
	              err->text);
}

/* Whether a call of a running attempt was refused and would be refused again
 * now, for example for lack of a permission. If so, report the error and make
 * no calls for the attempt for KUBE_REST_MS. ENOENT does not count: the watch
 * reports that an object is gone. */
static bool is_to_rest(struct kube_attempt *a, const struct err *err)
{
	if (!err || err->code == ENOENT || kube_answer_is_passing(err))
		return false;
	a->calls.rest_ms = clock_boot_ms() + KUBE_REST_MS;
	kube_tell_note(a, err->text);
	return true;
}

static void have_job(struct kube_attempt *a, json_t *obj)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *uid = kube_text_at(meta, "uid");
	const json_t *spec = json_object_get(obj, "spec");
	struct kube_owner owner;

	if (!uid || !kube_object_is_ours(obj, &a->kube->home, &owner) ||
	    owner.job != a->id.job || owner.attempt != a->id.attempt ||
	    !kube_jobs_tasks(obj)) {
		char *text = xasprintf("Job '%s' in namespace '%s' exists and "
		                       "is not ours: delete it",
		                       a->name, a->space->name);

		kube_end_fail(a, FAULT_POOL, text);
		free(text);
		return;
	}
	kube_attempt_set_uid(a, uid);
	a->slots.have =
	    (uint32_t)json_integer_value(json_object_get(spec, "completions"));
	/* Read from the Job what happens when pods are lost. If an older
	 * version of the daemon has made the Job, the Job controller does not
	 * replace lost pods. */
	a->make.loss = kube_jobs_loss(obj);
	json_decref(a->make.job);
	a->make.job = NULL;
}

/* No other job or attempt makes objects of this name. */
void kube_answer_object(struct kube_attempt *a, json_t **obj,
                        const struct err *err)
{
	if (!err || err->code == EEXIST) {
		json_decref(*obj);
		*obj = NULL;
	} else if (a->start.told) {
		is_to_rest(a, err);
	} else {
		refused(a, err);
	}
}

/* --- one function for each kind of call --- */

static void on_job(struct kube_attempt *a, struct kube_task *task,
                   const struct kube_answer *answer)
{
	(void)task;
	if (!answer->err)
		have_job(a, answer->body);
	else if (answer->err->code == EEXIST)
		kube_ask_job(a, ASK_LOOK, NULL);
	else
		refused(a, answer->err);
}

/* Handle the Job that was read because it existed already. If it has been
 * deleted since, the next step makes it again. */
static void on_look(struct kube_attempt *a, struct kube_task *task,
                    const struct kube_answer *answer)
{
	(void)task;
	if (!answer->err)
		have_job(a, answer->body);
	else if (answer->err->code != ENOENT)
		refused(a, answer->err);
}

static void on_secret(struct kube_attempt *a, struct kube_task *task,
                      const struct kube_answer *answer)
{
	(void)task;
	kube_answer_object(a, &a->make.secret, answer->err);
}

static void on_service(struct kube_attempt *a, struct kube_task *task,
                       const struct kube_answer *answer)
{
	(void)task;
	kube_answer_object(a, &a->make.service, answer->err);
}

static void on_policy(struct kube_attempt *a, struct kube_task *task,
                      const struct kube_answer *answer)
{
	(void)task;
	kube_answer_object(a, &a->make.policy, answer->err);
}

static void on_indexes(struct kube_attempt *a, struct kube_task *task,
                       const struct kube_answer *answer)
{
	(void)task;
	if (!answer->err)
		a->slots.have = a->slots.indexes;
	else
		is_to_rest(a, answer->err);
}

static void on_claim(struct kube_attempt *a, struct kube_task *task,
                     const struct kube_answer *answer)
{
	(void)task;
	if (!answer->err)
		kube_claims_answered(a->kube, answer->body);
	else if (answer->err->code != ENOENT)
		refused(a, answer->err);
}

/* Handle the answer to making a ResourceClaim. If it exists already, the watch
 * reports it. */
static void on_grant(struct kube_attempt *a, struct kube_task *task,
                     const struct kube_answer *answer)
{
	if (!answer->err)
		kube_devices_answered(a->kube, answer->body);
	kube_give_answered(a, task, answer);
}

/* Handle the answer to binding a pod. If the pod is gone or already bound, the
 * watch reports that. */
static void on_bind(struct kube_attempt *a, struct kube_task *task,
                    const struct kube_answer *answer)
{
	const struct err *err = answer->err;

	if (!err || err->code == ESTALE)
		return;
	if (task)
		task->binding = false;
	if (a->start.told)
		is_to_rest(a, err);
	else if (err->code != ENOENT)
		refused(a, err);
}

/* Handle the answer to telling a pod to end. After an error the call is made
 * again, unless the pod is gone. */
static void on_leave(struct kube_attempt *a, struct kube_task *task,
                     const struct kube_answer *answer)
{
	const struct err *err = answer->err;

	if (task && err && (is_to_rest(a, err) || kube_answer_is_passing(err)))
		task->leaving = false;
}

/* Handle the answer to setting a pod to Failed. If that is not allowed, the
 * whole attempt is lost with the pod. */
static void on_lose(struct kube_attempt *a, struct kube_task *task,
                    const struct kube_answer *answer)
{
	if (!task || !answer->err)
		return;
	task->losing = false;
	if (is_to_rest(a, answer->err))
		a->make.loss.least = 0;
}

static void on_force(struct kube_attempt *a, struct kube_task *task,
                     const struct kube_answer *answer)
{
	if (!task || !answer->err)
		return;
	is_to_rest(a, answer->err);
	task->forced = false;
}

static void on_delete(struct kube_attempt *a, struct kube_task *task,
                      const struct kube_answer *answer)
{
	(void)task;
	is_to_rest(a, answer->err);
	if (!answer->err || answer->err->code == ENOENT)
		a->end.job_gone = true;
}

/* The function that handles the answers to each kind of call; NULL for calls
 * that are not about an attempt. */
static void (*const on[ASK_KINDS])(struct kube_attempt *a,
                                   struct kube_task *task,
                                   const struct kube_answer *answer) = {
	[ASK_JOB] = on_job,
	[ASK_LOOK] = on_look,
	[ASK_SECRET] = on_secret,
	[ASK_SERVICE] = on_service,
	[ASK_POLICY] = on_policy,
	[ASK_INDEXES] = on_indexes,
	[ASK_CLAIM] = on_claim,
	[ASK_GRANT] = on_grant,
	[ASK_GRANT_KEEP] = kube_give_answered,
	[ASK_GRANT_FILL] = kube_give_answered,
	[ASK_GRANT_MAP] = kube_give_answered,
	[ASK_GRANT_DROP] = kube_give_answered,
	[ASK_BIND] = on_bind,
	[ASK_LEAVE] = on_leave,
	[ASK_FORCE] = on_force,
	[ASK_LOSE] = on_lose,
	[ASK_DELETE] = on_delete,
};

void kube_answer_take(struct kube_attempt *a, enum kube_ask_kind kind,
                      struct kube_task *task, const struct kube_answer *answer)
{
	const struct err *err = answer->err;

	a->calls.open[kind]--;
	if (on[kind])
		on[kind](a, task, answer);
	if (!err)
		kube_tell_note(a, NULL);
	/* After an error, leave the attempt to the next tick, which repeats the
	 * call. */
	if (!err || err->code == EEXIST || a->end.fault.code || a->end.over)
		kube_attempt_touch(a);
}
