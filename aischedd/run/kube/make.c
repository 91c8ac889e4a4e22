/* make.c - make the objects of an attempt, and bind its pods to nodes */
#include "aischedd/run/kube/make.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/volume.h"
#include "aischedd/run/kube/shared.h"
#include "aischedd/run/kube/space/ports.h"
#include "libcommon/mem.h"

/* Make an object that is deleted with the Job; NULL: it is not needed, or it is
 * made. */
static void make_owned(struct kube_attempt *a, enum kube_ask_kind kind,
                       json_t *obj)
{
	if (!obj || a->calls.open[kind])
		return;
	kube_object_own(obj, a->name, a->uid);
	kube_ask_job(a, kind, json_incref(obj));
}

void kube_make_objects(struct kube_attempt *a)
{
	if (!a->uid) {
		if (!a->calls.open[ASK_JOB] && !a->calls.open[ASK_LOOK])
			kube_ask_job(a, ASK_JOB, json_incref(a->make.job));
		return;
	}
	if (a->make.secret && a->make.shared)
		kube_shared_make(a);
	else
		make_owned(a, ASK_SECRET, a->make.secret);
	make_owned(a, ASK_POLICY, a->make.policy);
	kube_ports_make(a);
	if (a->slots.indexes > a->slots.have && !a->calls.open[ASK_INDEXES])
		kube_ask_job(a, ASK_INDEXES,
		             kube_object_indexes(a->uid, a->slots.indexes));
}

void kube_make_service(struct kube_attempt *a)
{
	if (a->uid)
		make_owned(a, ASK_SERVICE, a->make.service);
}

bool kube_make_may_bind(const struct kube_task *task)
{
	return task && !kube_task_is_bound(task) && !task->pod.deleting &&
	       !kube_pod_is_over(&task->pod);
}

bool kube_make_is_done(struct kube_attempt *a)
{
	for (uint32_t i = 0; i < a->slots.n; i++)
		if (!kube_attempt_at(a, a->slots.slot[i].index) &&
		    !a->slots.slot[i].seen)
			return false;
	return true;
}

/* Whether the volumes that the attempt mounts can be mounted on its nodes. If a
 * claim has no volume yet, change the claim so that it gets one. */
static bool volumes_are_ready(struct kube_attempt *a)
{
	const char **node;
	struct kube_claims_next next;
	enum kube_claims_state state;

	if (!a->make.mount || a->start.told)
		return true;
	node = xcalloc(a->slots.n + 1, sizeof(*node));
	for (uint32_t i = 0; i < a->slots.n; i++)
		node[i] = a->slots.slot[i].node;
	state = kube_claims_look(a->space, a->make.mount, node, a->slots.n,
	                         a->make.refusals, &next);
	if (a->make.refusals == UINT32_MAX)
		a->make.refusals = next.refusals;
	if (state == CLAIMS_ASK && !a->calls.open[ASK_CLAIM])
		kube_ask_claim(a, next.claim, kube_claims_patch(&next));
	text_set(&a->make.wait, state == CLAIMS_WAIT ? next.text : NULL);
	if (state == CLAIMS_WAIT)
		kube_tell_note(a, next.text);
	if (state == CLAIMS_REFUSED) {
		a->slots.slot[0].failed = next.fault == FAULT_SYSTEM;
		kube_end_fail(a, next.fault, next.text);
	}
	free(node);
	return state == CLAIMS_READY;
}

void kube_make_bindings(struct kube_attempt *a)
{
	const char *namespace = a->space->name;

	if (!a->uid || a->make.secret || a->make.ports || a->make.policy)
		return;
	if (!kube_make_is_done(a) || !volumes_are_ready(a) ||
	    !kube_give_step(a))
		return;
	for (uint32_t i = 0; i < a->slots.n; i++) {
		struct kube_task *task =
		    kube_attempt_at(a, a->slots.slot[i].index);

		if (!kube_make_may_bind(task) || a->slots.slot[i].lost)
			continue;
		task->binding = true;
		kube_ask_pod(a, ASK_BIND, task,
		             kube_object_binding(namespace, task->pod.name,
		                                 task->pod.uid,
		                                 a->slots.slot[i].node));
	}
}

void kube_make_drop(struct kube_attempt *a)
{
	json_t **objs[] = { &a->make.job, &a->make.secret, &a->make.service,
		            &a->make.ports, &a->make.policy };

	for (size_t i = 0; i < ARRAY_SIZE(objs); i++) {
		json_decref(*objs[i]);
		*objs[i] = NULL;
	}
}
