/* pod.c - the pods of Jobs made with kubectl, and the slots in which they
 * run */
#include "aischedd/run/kube/adopt/pod.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/adopt/end.h"
#include "aischedd/run/kube/adopt/give.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

static bool is_bound(const struct kube_adopt_pod *p)
{
	return *p->pod.node || p->binding;
}

static bool is_alive(const struct kube_adopt_pod *p)
{
	return is_bound(p) && !p->gone && !kube_pod_is_over(&p->pod);
}

bool kube_adopt_pod_any_alive(const struct kube_adoptee *j)
{
	const struct kube_adopt_pod *p;

	TAILQ_FOREACH(p, &j->pods, of_list)
		if (is_alive(p))
			return true;
	return false;
}

struct kube_adopt_pod *kube_adopt_pod_find(struct kube_adoptee *j,
                                           const char *uid)
{
	struct kube_adopt_pod *p;

	TAILQ_FOREACH(p, &j->pods, of_list)
		if (!strcmp(p->pod.uid, uid))
			return p;
	return NULL;
}

static void count(struct kube_adopt_pod *p)
{
	bool counts = !p->of->run.attempt && !p->gone && *p->pod.node &&
	              !kube_pod_is_over(&p->pod);

	if (counts == p->counted)
		return;
	p->counted = counts;
	kube_nodes_use(p->of->kube->nodes, p->pod.node, &p->pod.use, counts);
}

void kube_adopt_pod_count(struct kube_adoptee *j)
{
	struct kube_adopt_pod *p;

	TAILQ_FOREACH(p, &j->pods, of_list)
		count(p);
}

static void leave_slot(struct kube_adopt_pod *p)
{
	if (p->slot)
		p->slot->pod = NULL;
	p->slot = NULL;
}

void kube_adopt_pod_free(struct kube_adopt_pod *p)
{
	leave_slot(p);
	if (p->counted)
		kube_nodes_use(p->of->kube->nodes, p->pod.node, &p->pod.use,
		               false);
	TAILQ_REMOVE(&p->of->pods, p, of_list);
	kube_pod_fini(&p->pod);
	free(p);
}

void kube_adopt_pod_keep(struct kube_adoptee *j, const struct kube_space *space)
{
	struct kube_adopt_pod *p, *next;

	for (p = TAILQ_FIRST(&j->pods); p; p = next) {
		next = TAILQ_NEXT(p, of_list);
		if (strcmp(p->pod.namespace, space->name) != 0)
			kube_adopt_pod_free(p);
	}
}

/* --- give slots to pods --- */

/* Returns a slot without pod on the node; on any node if `node` is "". NULL:
 * there is none. */
static struct kube_adopt_slot *free_slot(struct kube_adoptee *j,
                                         const char *node)
{
	for (uint32_t i = 0; i < j->run.nslots; i++) {
		struct kube_adopt_slot *slot = &j->run.slot[i];

		if (!slot->pod && (!*node || !strcmp(slot->node, node)))
			return slot;
	}
	return NULL;
}

/* If the kubelet has refused the pod, fail the start, unless the Job has begun
 * or ended: the Job controller would make pod after pod for the same node,
 * until the Job fails. */
static void judge_refused(struct kube_adopt_pod *p)
{
	struct kube_adoptee *j = p->of;
	char *text;

	if (!p->slot || !kube_pod_is_refused(&p->pod) || j->run.started ||
	    kube_adopt_is_over(j) || kube_adopt_end_is_due(j))
		return;
	p->slot->failed = true;
	text = kube_pod_refusal(&p->pod);
	kube_adopt_end_fail(j, FAULT_REFUSED, text);
	free(text);
}

/* Note in the pod's slot that the pod has run or was refused. If the pod is
 * over, free the slot for the next pod. */
static void settle(struct kube_adopt_pod *p)
{
	if (p->slot && p->pod.ran)
		p->slot->ran = true;
	judge_refused(p);
	if (p->gone || kube_pod_is_over(&p->pod) ||
	    (p->pod.deleting && !is_bound(p)))
		leave_slot(p);
}

/* Whether the pod gets the slot for which its claim was taken, in this run of
 * the daemon or an earlier one. Other slots have other GPUs. */
static bool takes(const struct kube_adopt_pod *p,
                  const struct kube_adopt_slot *slot)
{
	return slot && !slot->pod &&
	       (!*p->pod.node || !strcmp(slot->node, p->pod.node));
}

static void deal_to(struct kube_adoptee *j, bool bound, bool claimed)
{
	struct kube_adopt_pod *p;

	TAILQ_FOREACH(p, &j->pods, of_list) {
		if (p->slot || p->gone || p->former ||
		    kube_pod_is_over(&p->pod) || is_bound(p) != bound ||
		    (!bound && p->pod.deleting))
			continue;
		p->slot = kube_adopt_give_slot(p);
		if (!takes(p, p->slot))
			p->slot = claimed ? NULL : free_slot(j, p->pod.node);
		if (p->slot)
			p->slot->pod = p;
		settle(p);
	}
}

void kube_adopt_pod_deal(struct kube_adoptee *j)
{
	struct kube_adopt_pod *p;

	TAILQ_FOREACH(p, &j->pods, of_list)
		settle(p);
	deal_to(j, true, true);
	deal_to(j, false, true);
	deal_to(j, true, false);
	deal_to(j, false, false);
}

/* --- handle what the watch of pods reports --- */

static struct kube_adopt_pod *pod_seen(struct kube_adoptee *j,
                                       struct kube_pod *pod)
{
	struct kube_adopt_pod *p = kube_adopt_pod_find(j, pod->uid);

	if (!p) {
		p = xcalloc(1, sizeof(*p));
		p->of = j;
		TAILQ_INSERT_TAIL(&j->pods, p, of_list);
	} else {
		kube_pod_fini(&p->pod);
	}
	p->pod = *pod;
	p->marked = false;
	if (pod->deleting && !p->gone_ms)
		p->gone_ms = clock_boot_ms();
	return p;
}

/* Handle the deletion of a pod. A pod of the current attempt that ran is kept,
 * as its outcome and the number of its log are still needed. Any other pod
 * is freed. */
static void pod_deleted(struct kube_adopt_pod *p)
{
	if (p->former || (!p->pod.ran && !kube_pod_is_over(&p->pod))) {
		kube_adopt_pod_free(p);
		return;
	}
	p->gone = p->pod.deleting = true;
	count(p);
}

bool kube_adopt_pod_seen(struct kube *kube, struct kube_pod *pod, bool deleted)
{
	const struct kube_space *space = kube_space_find(kube, pod->namespace);
	struct kube_adoptee *j = kube_adopt_find(kube, pod->owner);
	struct kube_adopt_pod *p;

	if (!j) /* a pod without Job */
		j = kube_adopt_find(kube, pod->uid);
	/* After a restart, pods may be listed before their Job: while j->space
	 * is not known yet, take pods of all namespaces. */
	if (!j || !space || (j->space && j->space != space))
		return false;
	p = pod_seen(j, pod);
	if (deleted)
		pod_deleted(p);
	else
		count(p);
	kube_log_look(kube);
	kube_adopt_step(j);
	return true;
}

static void drop_marked(struct kube_adoptee *j)
{
	struct kube_adopt_pod *p, *next;

	for (p = TAILQ_FIRST(&j->pods); p; p = next) {
		next = TAILQ_NEXT(p, of_list);
		if (p->marked && !p->gone)
			pod_deleted(p);
	}
}

void kube_adopt_pod_news(struct kube *kube, enum kube_news news)
{
	struct kube_adoptee *j;
	struct kube_adopt_pod *p;
	size_t at = 0;

	if (news != KUBE_RESET && news != KUBE_SYNCED)
		return;
	while ((j = map_each(&kube->adopt.by_uid, &at)))
		if (news == KUBE_SYNCED)
			drop_marked(j);
		else
			TAILQ_FOREACH(p, &j->pods, of_list)
				p->marked = true;
	kube_adopt_plain_news(kube, news);
	if (news == KUBE_SYNCED)
		kube_adopt_step_all(kube);
}
