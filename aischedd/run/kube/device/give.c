/* give.c - make and fill the claims of an attempt, before its pods are bound */
#include "aischedd/run/kube/device/give.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/device/kinds.h"
#include "aischedd/run/kube/device/share.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/grant.h"
#include "aischedd/run/kube/object/wanted.h"
#include "libcommon/mem.h"

enum {
	/* first version 1.x of Kubernetes in which the status of a pod can name
	 * a ResourceClaim */
	NAMES_MINOR = 36
};

/* --- decide whether the attempt gets GPUs by claims or by a plugin -------- */

/* Fail the start. If the attempt runs, and goes on without this slot's task,
 * report the task as lost instead, so that it tries another node. Frees the
 * text. Returns false. */
static bool fail_for(struct kube_attempt *a, struct kube_slot *slot,
                     enum start_fault fault, char *text)
{
	struct kube_task *task = kube_attempt_at(a, slot->index);

	slot->failed |= slot->node && !a->end.fault.code;
	kube_end_fail(a, fault, text);
	if (kube_end_may_lose(a) && kube_make_may_bind(task)) {
		kube_slot_lose(slot, task->pod.name, text);
		slot->refused = true;
	}
	free(text);
	return false;
}

static bool fail(struct kube_attempt *a, struct kube_slot *slot, char *text)
{
	return fail_for(a, slot, FAULT_SYSTEM, text);
}

/* Fail the start, because some nodes give GPUs by ResourceClaims and others by
 * a plugin. Blame the node of this slot, the first that differs. */
static void fail_mixed(struct kube_attempt *a, struct kube_slot *slot)
{
	fail(a, slot,
	     xasprintf("node '%s' gives GPUs by %s and others of its nodes do "
	               "not: name nodes of one kind with --constraint or "
	               "--nodelist",
	               slot->node, a->give.by_claims ? "a plugin" : "claims"));
}

/* Fail the start, because the node can never give that much, or that little, of
 * a GPU: tasks with such a request try other nodes. */
static bool refuse(struct kube_attempt *a, struct kube_slot *slot, char *text)
{
	return fail_for(a, slot, FAULT_REFUSED, text);
}

bool kube_give_is_claimed(const struct kube_attempt *a)
{
	return a->give.by_claims || a->give.devs;
}

/* Whether all nodes from which the attempt is to get GPUs give them in the same
 * way, by claims or by a plugin, which gives no parts. If not, fails the start.
 */
static bool is_one_kind(struct kube_attempt *a)
{
	for (uint32_t i = 0; i < a->slots.n; i++) {
		struct kube_slot *slot = &a->slots.slot[i];

		if (a->start.told &&
		    !kube_make_may_bind(kube_attempt_at(a, slot->index)))
			continue;
		if (slot->devs && kube_share_is(a, slot))
			return refuse(a, slot,
			              xasprintf("node '%s' gives a part of a "
			                        "GPU by the claim of all its "
			                        "tasks, which cannot have "
			                        "other devices",
			                        slot->node));
		if (slot->gpus && slot->milli < 1000 &&
		    !kube_devices_has(a->kube, slot->node))
			return refuse(a, slot,
			              xasprintf("node '%s' gives GPUs by a "
			                        "plugin, which gives no parts "
			                        "of GPUs",
			                        slot->node));
		if (!slot->gpus ||
		    kube_devices_has(a->kube, slot->node) == a->give.by_claims)
			continue;
		fail_mixed(a, slot);
		return false;
	}
	return true;
}

bool kube_give_order(struct kube_attempt *a, const struct run_job *job)
{
	a->give.by_claims = false;
	for (uint32_t i = 0; i < a->slots.n && !a->give.by_claims; i++)
		a->give.by_claims =
		    a->slots.slot[i].gpus &&
		    kube_devices_has(a->kube, a->slots.slot[i].node);
	kube_gang_order(a, job);
	kube_devices_touch(a);
	if (!kube_give_is_claimed(a) || a->give.named ||
	    kube_version_is_from(a->kube, NAMES_MINOR))
		return is_one_kind(a);
	kube_end_fail(a, FAULT_USER,
	              a->give.by_claims
	                  ? "GPUs by claims for several tasks need Kubernetes "
	                    "1.36"
	                  : "devices by claims for several tasks need "
	                    "Kubernetes 1.36");
	return false;
}

static struct kube_claimed *claim_at(const struct kube_attempt *a,
                                     uint32_t index)
{
	struct kube_claimed *claim;
	char name[KUBE_GRANT_SIZE];

	kube_grant_name(name, a->name, kube_gang_first(a, index));
	claim = kube_devices_claim(a->kube, a->space->name, name);
	return claim ? claim : kube_share_of(a, index);
}

uint64_t kube_give_found(const struct kube_attempt *a, uint32_t index,
                         struct kube_part *ret_part)
{
	const struct kube_claimed *claim = claim_at(a, index);

	*ret_part = (struct kube_part){ 0 };
	if (!claim || !claim->ours)
		return 0;
	*ret_part = claim->part;
	return claim->share ? kube_devices_bits(a->kube, claim)
	                    : kube_devices_bits_of(a->kube, claim, index);
}

const char *kube_give_devs(const struct kube_attempt *a, uint32_t index)
{
	const struct kube_claimed *claim = claim_at(a, index);

	return claim && claim->ours && *claim->devs ? claim->devs : NULL;
}

bool kube_give_is_made(const struct kube_attempt *a, uint32_t index)
{
	const struct kube_claimed *claim = claim_at(a, index);

	return claim && claim->ours;
}

bool kube_give_holds(const struct kube_attempt *a, uint32_t index)
{
	const struct kube_claimed *claim = claim_at(a, index);
	const struct kube_task *task =
	    kube_attempt_at((struct kube_attempt *)a, index);

	if (claim && claim->share)
		return task &&
		       kube_grant_is_for(claim->reserved, task->pod.uid);
	return claim && claim->ours && (claim->n || claim->ndevs);
}

void kube_give_recall(struct kube_attempt *a)
{
	kube_gang_recall(a);
	for (uint32_t i = 0; i < a->slots.n; i++) {
		struct kube_slot *slot = &a->slots.slot[i];
		const struct kube_claimed *claim = claim_at(a, slot->index);

		slot->gpus = kube_give_found(a, slot->index, &slot->part);
		a->give.by_claims |= slot->gpus != 0;
		if (claim && claim->ours && *claim->devs) {
			a->give.devs = true;
			if (!strcmp(claim->node, slot->node))
				slot->devs = xstrdup(claim->devs);
		}
		if (slot->gpus && strcmp(claim->node, slot->node) != 0)
			slot->gpus = 0;
		slot->milli = slot->gpus ? claim->milli : 1000;
		/* The claim does not say how large the part is. */
		if (slot->gpus && claim->share)
			slot->milli = 1;
	}
}

/* --- the calls for one claim ---------------------------------------------- */

static json_t *make_claim(struct kube_attempt *a, const struct kube_slot *slot,
                          const struct kube_given *given, json_t *amounts)
{
	const struct kube_home home = kube_space_home(a->space);

	return kube_grant_object(&(struct kube_grant_of){ .home = &home,
	                                                  .owner = a->id,
	                                                  .job = a->name,
	                                                  .uid = a->uid,
	                                                  .index = slot->index,
	                                                  .node = slot->node },
	                         given, amounts);
}

/* Fail the start, because the driver allows no claim to have that much of a
 * capacity of device i. */
static bool fail_lack(struct kube_attempt *a, struct kube_slot *slot,
                      const struct kube_given *given, uint32_t i,
                      const struct kube_capacity *lack)
{
	char *all = kube_capacity_text(lack->all), *text;

	text = xasprintf("node '%s' does not let a claim have %g of GPU '%s' "
	                 "(capacity %s, %s in all)",
	                 slot->node, given->milli / 1e3, given->gpu[i].name,
	                 lack->name, all);
	free(all);
	return refuse(a, slot, text);
}

/* Make the call that makes the claim of a pod. Fails the start if the driver
 * allows no claim to have so much, or so little, of a GPU. Returns false. */
static bool make(struct kube_attempt *a, struct kube_slot *slot,
                 struct kube_task *task, const struct kube_given *given,
                 const char *name)
{
	const struct kube_capacity *lack;
	json_t *amounts = NULL;

	for (uint32_t i = given->n; i--;) {
		json_decref(amounts);
		amounts = NULL;
		if (!given->gpu[i].caps && slot->milli < 1000)
			return refuse(
			    a, slot,
			    xasprintf("node '%s' gives no parts of GPU "
			              "'%s'",
			              slot->node, given->gpu[i].name));
		if (!given->gpu[i].caps)
			continue;
		amounts = kube_capacities_part(given->gpu[i].caps, slot->milli,
		                               slot->mem_mib, &lack);
		if (!amounts)
			return fail_lack(a, slot, given, i, lack);
	}
	kube_ask_grant(a, ASK_GRANT, task, name,
	               make_claim(a, slot, given, amounts));
	json_decref(amounts);
	return false;
}

/* Returns the pods for which the slot's claim is to be reserved: those that
 * have it, or of these only those for which it is not reserved. `reserved`: the
 * pods for which it is. Returns NULL if there are none. */
static json_t *pods_of(struct kube_attempt *a, const struct kube_slot *slot,
                       const json_t *reserved)
{
	uint32_t index = slot->index;
	json_t *pods = NULL;

	do {
		const struct kube_task *task = kube_attempt_at(a, index);

		if (task && !task->pod.deleting &&
		    !kube_pod_is_over(&task->pod) &&
		    !kube_grant_is_for(reserved, task->pod.uid))
			pods = kube_grant_pods(pods, task->pod.name,
			                       task->pod.uid);
	} while ((index = kube_gang_next(a, index)));
	return pods;
}

static void ask_claim(struct kube_attempt *a, struct kube_task *task,
                      enum kube_ask_kind kind, struct kube_claimed *claim,
                      json_t *body)
{
	text_set(&claim->asked, claim->version);
	kube_ask_grant(a, kind, task, claim->name, body);
}

/* Returns a device other than GPUs that the claim has and this pod was to have,
 * or NULL. */
static const struct kube_given_dev *both_have(const struct kube_claimed *claim,
                                              const struct kube_given *given)
{
	for (uint32_t i = 0; i < given->ndevs; i++)
		for (uint32_t k = 0; k < claim->ndevs; k++)
			if (!strcmp(claim->dev[k].pool, given->dev[i].pool) &&
			    !strcmp(claim->dev[k].name, given->dev[i].name))
				return &given->dev[i];
	return NULL;
}

/* Fail the start because of a claim that has a device, or too much of it, that
 * this slot's pod was to have. did: "has" or "was given". */
static bool fail_rival(struct kube_attempt *a, struct kube_slot *slot,
                       const struct kube_given *given,
                       const struct kube_claimed *rival, const char *did)
{
	const struct kube_given_dev *dev = both_have(rival, given);
	char *what =
	    dev ? xasprintf("%s '%s'", dev->kind->name, dev->name) : NULL;
	char *text;

	text = xasprintf("ResourceClaim '%s' in namespace '%s' %s %s of node "
	                 "'%s' that it was to have",
	                 rival->name, rival->namespace, did,
	                 what                 ? what
	                 : slot->part.units   ? "a partition of a GPU"
	                 : slot->milli < 1000 ? "part of a GPU"
	                                      : "a GPU",
	                 slot->node);
	free(what);
	return fail(a, slot, text);
}

/* Make the next call that allocates the plan's devices to a claim, which has no
 * devices yet. Fails the start if another claim has one of the devices, or too
 * much of it. Returns false, because the pod has no devices yet. */
static bool fill(struct kube_attempt *a, struct kube_slot *slot,
                 struct kube_task *task, struct kube_claimed *claim,
                 const struct kube_given *given)
{
	struct kube *kube = a->kube;
	const struct kube_claimed *rival;
	const json_t *config = json_object_get(
	    json_object_get(slot->part.units ? kube->devices.mig_class
	                                     : kube->devices.class,
	                    "spec"),
	    "config");

	if (claim->asked)
		return false;
	rival = kube_devices_rival(kube, given, claim, UINT64_MAX);
	if (rival && rival->ours && rival->owner.job == a->id.job &&
	    rival->owner.attempt == a->id.attempt &&
	    !(slot->milli < 1000 && kube_devices_is_planned(kube, rival)))
		/* wait until another pod of the attempt has given up the GPU */
		return false;
	if (rival)
		return fail_rival(a, slot, given, rival, "has");
	if (!claim->finalizer) {
		ask_claim(a, task, ASK_GRANT_KEEP, claim,
		          kube_grant_finalizer(claim->uid, claim->version));
	} else {
		kube_devices_expect(kube, claim, given);
		ask_claim(a, task, ASK_GRANT_FILL, claim,
		          kube_grant_allocated(
			      claim->obj, kube->pool->device_driver, slot->node,
			      given, config, pods_of(a, slot, NULL)));
	}
	return false;
}

/* Whether the claim is one of the attempt. */
static bool is_its(const struct kube_attempt *a,
                   const struct kube_claimed *claim)
{
	return claim->ours && claim->owner.job == a->id.job &&
	       claim->owner.attempt == a->id.attempt;
}

/* Returns the GPUs that the slot's pod gets by its claim. */
static uint64_t gpus_of(const struct kube_attempt *a,
                        const struct kube_slot *slot)
{
	return a->give.by_claims ? slot->gpus : 0;
}

/* Whether the claim is for the pods that are to have one with the slot's pod,
 * and has a request for the GPUs of each. */
static bool is_for_pods(struct kube_attempt *a, const struct kube_slot *slot,
                        const struct kube_claimed *claim)
{
	uint32_t index = slot->index, n = 0;

	do {
		slot = kube_slot_at(a, index);
		if (n >= claim->npods || claim->pod[n] != index || !slot ||
		    kube_devices_bits_of(a->kube, claim, index) !=
		        gpus_of(a, slot))
			return false;
		n++;
	} while ((index = kube_gang_next(a, index)));
	return n == claim->npods;
}

/* Whether the claim was made for the devices of this slot, and of those whose
 * pods have it, too. */
static bool is_for(struct kube_attempt *a, const struct kube_slot *slot,
                   const struct kube_claimed *claim)
{
	return is_its(a, claim) && !strcmp(claim->node, slot->node) &&
	       is_for_pods(a, slot, claim) &&
	       !strcmp(claim->devs, slot->devs ? slot->devs : "") &&
	       claim->milli == slot->milli &&
	       kube_part_is_same(claim->part, slot->part);
}

/* Make the next call that gets rid of a claim for other GPUs. If the attempt
 * runs, it is that of a lost task of this index: the cluster frees its devices,
 * as its pod has ended; then the claim is deleted, and another one made under
 * its name. Fails the start if the attempt does not run yet. Returns false. */
static bool drop(struct kube_attempt *a, struct kube_slot *slot,
                 struct kube_task *task, struct kube_claimed *claim)
{
	if (!a->start.told || a->give.named || !is_its(a, claim))
		return fail(
		    a, slot,
		    xasprintf("ResourceClaim '%s' in namespace '%s' "
		              "exists and is for other devices: delete it",
		              claim->name, a->space->name));
	/* The cluster frees no devices for which this pod waits: the pod was to
	 * get them when its task moved on. Have another pod made. */
	if (claim->allocated &&
	    kube_grant_is_for(claim->reserved, task->pod.uid))
		kube_end_lose(a, task, "NotStarted",
		              "its task moves to other devices");
	else if (!claim->allocated && !claim->asked)
		ask_claim(a, task, ASK_GRANT_DROP, claim,
		          kube_object_deletion(claim->uid, -1));
	return false;
}

/* Whether the claim has exactly the devices of the plan. */
static bool has_them(const struct kube *kube, const struct kube_claimed *claim,
                     const struct kube_given *given)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < given->n; i++)
		for (uint32_t k = 0; k < claim->n; k++)
			n += !strcmp(claim->gpu[k].pool, given->gpu[i].pool) &&
			     !strcmp(claim->gpu[k].name, given->gpu[i].name);
	if (n != given->n || claim->n != n || claim->ndevs != given->ndevs)
		return false;
	n = 0;
	for (uint32_t i = 0; i < given->ndevs; i++)
		for (uint32_t k = 0; k < claim->ndevs; k++)
			n += given->dev[i].kind ==
			         &kube->pool->kinds[claim->dev[k].kind] &&
			     !strcmp(claim->dev[k].pool, given->dev[i].pool) &&
			     !strcmp(claim->dev[k].name, given->dev[i].name);
	return n == given->ndevs;
}

/* Write the claim's name to the status of its pod, unless the pod's status or
 * template names the claim already. Returns true if one of them does. */
static bool map_claim(struct kube_attempt *a, struct kube_task *task,
                      const struct kube_claimed *claim)
{
	char request[24];

	if (a->give.named || !strcmp(task->pod.claim, claim->name))
		return true;
	if (task->giving || task->mapped)
		return false;
	task->mapped = true;
	kube_grant_request(request, (uint32_t)task->pod.index);
	kube_ask_grant(a, ASK_GRANT_MAP, task, task->pod.name,
	               kube_grant_mapping(claim->obj, task->pod.uid,
	                                  claim->npods > 1 ? request : NULL));
	return false;
}

/* Returns the pod of this index if it can be bound, or NULL. */
static struct kube_task *bindable(struct kube_attempt *a, uint32_t index)
{
	const struct kube_slot *slot = kube_slot_at(a, index);
	struct kube_task *task = kube_attempt_at(a, index);

	return slot && !slot->lost && kube_make_may_bind(task) ? task : NULL;
}

/* The same for all pods that have the claim, of which the slot's is the first.
 */
static bool map_all(struct kube_attempt *a, const struct kube_slot *slot,
                    const struct kube_claimed *claim)
{
	uint32_t index = slot->index;
	bool all = true;

	do {
		struct kube_task *task = bindable(a, index);

		if (task)
			all &= map_claim(a, task, claim);
	} while ((index = kube_gang_next(a, index)));
	return all;
}

/* Make the call that makes the claim for all tasks that share a GPU. Returns
 * false. */
static bool make_share(struct kube_attempt *a, const struct kube_slot *slot,
                       struct kube_task *task, const struct kube_given *given,
                       const char *name)
{
	const struct kube_home home = kube_space_home(a->space);
	const struct kube_grant_of of = { .home = &home,
		                          .node = slot->node,
		                          .name = name };

	kube_ask_grant(a, ASK_GRANT, task, name,
	               kube_grant_object(&of, given, NULL));
	return false;
}

/* Make the call that reserves a claim which has its GPU for one more pod.
 * Returns false. */
static bool reserve(struct kube_attempt *a, struct kube_slot *slot,
                    struct kube_task *task, struct kube_claimed *claim)
{
	if (claim->asked)
		return false;
	if (json_array_size(claim->reserved) >= KUBE_RESERVED_MAX)
		return fail(a, slot,
		            xasprintf("%d pods share a GPU of node '%s', which "
		                      "is the most",
		                      KUBE_RESERVED_MAX, slot->node));
	ask_claim(
	    a, task, ASK_GRANT_FILL, claim,
	    kube_grant_reserved(claim->obj, pods_of(a, slot, claim->reserved)));
	return false;
}

/* Make the next call by which the pod of a slot shares its GPU with others.
 * Returns whether it does; fails the start if it cannot. */
static bool share(struct kube_attempt *a, struct kube_slot *slot,
                  struct kube_task *task, const struct kube_given *given)
{
	struct kube_claimed *claim;
	const struct kube_claimed *rival;
	char name[KUBE_GRANT_SIZE];

	kube_grant_share_name(name, a->kube->home.cluster, slot->node, given);
	claim = kube_devices_claim(a->kube, a->space->name, name);
	if (!claim)
		return make_share(a, slot, task, given, name);
	if (!claim->share)
		return fail(a, slot,
		            xasprintf("ResourceClaim '%s' in namespace '%s' is "
		                      "not one of aischedd: delete it",
		                      name, a->space->name));
	if (claim->deleting || claim->drop_ms)
		return false; /* another one is made when it is gone */
	if (!claim->allocated)
		return fill(a, slot, task, claim, given);
	rival = kube_devices_rival(a->kube, given, claim, claim->seq);
	if (rival || !has_them(a->kube, claim, given))
		return fail_rival(a, slot, given, rival ? rival : claim,
		                  "was given");
	if (!kube_grant_is_for(claim->reserved, task->pod.uid))
		return reserve(a, slot, task, claim);
	return map_claim(a, task, claim);
}

/* Find the GPUs of the pods that have one claim, of which the slot's is the
 * first. Returns false if one of them is in no slice. */
static bool find_gpus(struct kube_attempt *a, const struct kube_slot *slot,
                      struct kube_given *ret)
{
	uint32_t index = slot->index;
	struct kube_given more;

	if (!kube_devices_find(a->kube, slot->node, gpus_of(a, slot),
	                       slot->milli, slot->part, ret))
		return false;
	ret->pod[ret->npods++] = index;
	while ((index = kube_gang_next(a, index))) {
		slot = kube_slot_at(a, index);
		if (!slot ||
		    !kube_devices_find(a->kube, slot->node, gpus_of(a, slot),
		                       slot->milli, slot->part, &more))
			return false;
		memcpy(&ret->gpu[ret->n], more.gpu, more.n * sizeof(*more.gpu));
		ret->n += more.n;
		ret->pod[ret->npods++] = index;
	}
	return true;
}

/* Whether a pod for which the claim is reserved has ended: the cluster is about
 * to remove it. */
static bool has_ended(struct kube_attempt *a, const struct kube_claimed *claim)
{
	const json_t *one;
	size_t i;

	json_array_foreach(claim->reserved, i, one) {
		const struct kube_task *task =
		    kube_pods_find(a->kube, kube_word_at(one, "uid"));

		if (!task || task->gone || task->pod.deleting ||
		    kube_pod_is_over(&task->pod))
			return true;
	}
	return false;
}

/* Whether the claim, which has its devices, is reserved for all pods that are
 * to have it. If it is still reserved for an earlier pod of one of their
 * indexes, wait until the cluster's controller has removed that; a claim for
 * one pod loses its devices then. To one for several pods add the new pods. */
static bool is_reserved(struct kube_attempt *a, struct kube_slot *slot,
                        struct kube_task *task, struct kube_claimed *claim)
{
	json_t *pods = pods_of(a, slot, claim->reserved);
	bool all = !pods;

	json_decref(pods);
	if (!all && claim->npods > 1 && !has_ended(a, claim))
		reserve(a, slot, task, claim);
	return all;
}

/* Make the next call that gives the pod of a slot its devices, and the others
 * that have its claim theirs. task: one of these pods. Returns whether they
 * have them; fails the start if they cannot get them. */
static bool give(struct kube_attempt *a, struct kube_slot *slot,
                 struct kube_task *task)
{
	struct kube_claimed *claim = claim_at(a, slot->index);
	const struct kube_claimed *rival;
	struct kube_given given;
	char name[KUBE_GRANT_SIZE];

	kube_grant_name(name, a->name, slot->index);
	if (!find_gpus(a, slot, &given))
		return fail(
		    a, slot,
		    xasprintf("node '%s' no longer shows a%s GPU that "
		              "it was to have",
		              slot->node,
		              slot->part.units ? " partition of a" : ""));
	if (!kube_kinds_find(a->kube, slot->node, slot->devs, &given))
		return fail(a, slot,
		            xasprintf("node '%s' no longer shows a device that "
		                      "it was to have",
		                      slot->node));
	if (task->giving)
		return false;
	if (kube_share_is(a, slot))
		return share(a, slot, task, &given);
	if (!claim)
		return make(a, slot, task, &given, name);
	if (!is_for(a, slot, claim))
		return drop(a, slot, task, claim);
	if (!claim->allocated)
		return fill(a, slot, task, claim, &given);
	if (!is_reserved(a, slot, task, claim))
		return false;
	rival = kube_devices_rival(a->kube, &given, claim, claim->seq);
	if (rival || !has_them(a->kube, claim, &given))
		return fail_rival(a, slot, &given, rival ? rival : claim,
		                  "was given");
	return map_all(a, slot, claim);
}

/* --- all claims of the attempt -------------------------------------------- */

bool kube_give_step(struct kube_attempt *a)
{
	bool all = true;

	if (!is_one_kind(a))
		return false;
	for (uint32_t i = 0; kube_give_is_claimed(a) && i < a->slots.n; i++) {
		struct kube_slot *slot = &a->slots.slot[i];
		uint32_t index = slot->index;
		struct kube_task *task;

		if (kube_gang_first(a, index) != index ||
		    (!gpus_of(a, slot) && !slot->devs))
			continue;
		while (!(task = bindable(a, index)) &&
		       (index = kube_gang_next(a, index)))
			;
		if (task)
			all &= give(a, slot, task);
		if (a->end.fault.code)
			return false;
	}
	return all;
}

static bool may_come_right(const struct err *err)
{
	return err->code == ETIMEDOUT || err->code == EAGAIN ||
	       err->code == EIO || err->code == ESTALE || err->code == EEXIST;
}

void kube_give_answered(struct kube_attempt *a, struct kube_task *task,
                        const struct kube_answer *answer)
{
	const struct err *err = answer->err;
	uint32_t index = task ? (uint32_t)task->pod.index : 0;
	const struct kube_slot *slot = task ? kube_slot_at(a, index) : NULL;
	struct kube_claimed *claim = task ? claim_at(a, index) : NULL;
	char name[KUBE_GRANT_SIZE];

	if (slot && kube_share_is(a, slot) && kube_share_name(a, slot, name))
		claim = kube_devices_claim(a->kube, a->space->name, name);

	if (task)
		task->giving = false;
	if (!err)
		return; /* the watch reports what has changed */
	if (task)
		task->mapped = false;
	if (claim)
		text_set(&claim->asked, NULL);
	if (err->code != ENOENT && !may_come_right(err))
		kube_end_fail(a, FAULT_POOL, err->text);
}
