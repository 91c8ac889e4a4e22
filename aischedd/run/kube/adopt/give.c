/* give.c - give pods of Jobs made with kubectl GPUs by their ResourceClaims */
#include "aischedd/run/kube/adopt/give.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/adopt/end.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/grant.h"
#include "libcommon/mem.h"

/* --- which GPUs the claims ask for ---------------------------------------- */

static const json_t *find(const void *arg, const char *name, bool template)
{
	const struct kube_adoptee *j = arg;
	const struct kube_claimed *claim;

	if (template)
		return kube_devices_template(j->kube, j->space->name, name);
	claim = kube_devices_claim(j->kube, j->space->name, name);
	return claim ? claim->obj : NULL;
}

int kube_adopt_give_read(const struct kube_adoptee *j, const json_t *job,
                         struct kube_wanted *ret, struct err *err)
{
	const struct kube_sight *sight = &j->kube->sight;
	struct kube_reader r = { .obj = job };
	const json_t *pod = kube_map(&r, "spec.template.spec");

	if (kube_wanted_read(pod, j->kube->pool, find, j, ret, err) == 0)
		return 0;
	if (err->code == ENOENT && sight->blind[SEE_GRANT_TEMPLATES].code)
		*err = sight->blind[SEE_GRANT_TEMPLATES];
	return -1;
}

/* A claim of a pod. */
struct part {
	struct kube_claimed *claim;
	bool own;
	uint32_t n;    /* how many GPUs it asks for */
	uint64_t gpus; /* those of the plan that it is to have, one bit each */
};

struct parts {
	uint32_t n;
	uint32_t shared, own; /* GPUs, as in struct kube_wanted */
	struct part part[KUBE_WANTED_CLAIMS];
};

static struct kube_claimed *claim_at(const struct kube_adopt_pod *p, size_t i)
{
	const char *name =
	    kube_text_at(json_array_get(p->pod.grants, i), "claim");

	return name ? kube_devices_claim(p->of->kube, p->pod.namespace, name)
	            : NULL;
}

/* Set ret to the claims of the pod. Returns false if one of them is not there
 * yet, or cannot be given GPUs: then *err has a text. */
static bool read_parts(const struct kube_adopt_pod *p, struct parts *ret,
                       struct err *err)
{
	size_t n = json_array_size(p->pod.grants);

	*ret = (struct parts){ 0 };
	err->code = 0;
	if (n > KUBE_WANTED_CLAIMS)
		n = KUBE_WANTED_CLAIMS;
	for (size_t i = 0; i < n; i++) {
		struct part *part = &ret->part[ret->n++];
		int gpus;

		part->claim = claim_at(p, i);
		part->own = json_is_true(
		    json_object_get(json_array_get(p->pod.grants, i), "own"));
		if (!part->claim || !part->claim->obj)
			return false;
		gpus =
		    kube_wanted_claim(part->claim->obj, p->of->kube->pool, err);
		if (gpus < 0) {
			err_wrap(err, "ResourceClaim '%.100s'",
			         part->claim->name);
			return false;
		}
		part->n = (uint32_t)gpus;
		*(part->own ? &ret->own : &ret->shared) += part->n;
	}
	return true;
}

/* Returns n of these GPUs, after the first `skip` of them. */
static uint64_t some_of(uint64_t gpus, uint32_t skip, uint32_t n)
{
	uint64_t ret = 0;

	for (; gpus && n; gpus &= gpus - 1) {
		if (skip) {
			skip--;
			continue;
		}
		ret |= gpus & -gpus;
		n--;
	}
	return ret;
}

/* Divide the GPUs of the slot among the claims of its pod. Slots whose pods
 * share claims all have the GPUs of one task of the plan. Returns false if
 * these are not as many as the claims ask for. */
static bool divide(const struct kube_adoptee *j,
                   const struct kube_adopt_slot *slot, struct parts *ret)
{
	uint32_t i = (uint32_t)(slot - j->run.slot), shared = 0;
	uint32_t pods = ret->shared ? j->run.nslots : 1;
	uint32_t own = ret->shared + (ret->shared ? i * ret->own : 0);

	if ((uint32_t)__builtin_popcountll(slot->gpus) !=
	    ret->shared + pods * ret->own)
		return false;
	for (uint32_t k = 0; k < ret->n; k++) {
		struct part *part = &ret->part[k];
		uint32_t *at = part->own ? &own : &shared;

		part->gpus = some_of(slot->gpus, *at, part->n);
		*at += part->n;
	}
	return true;
}

/* --- the calls for one claim ---------------------------------------------- */

static bool fail(struct kube_adoptee *j, struct kube_adopt_slot *slot,
                 enum start_fault fault, char *text)
{
	slot->failed = fault == FAULT_SYSTEM || fault == FAULT_REFUSED;
	kube_adopt_end_fail(j, fault, text);
	free(text);
	return false;
}

static uint32_t index_of(const struct kube_adoptee *j,
                         const struct kube_adopt_slot *slot,
                         const struct part *part)
{
	return part->own ? (uint32_t)(slot - j->run.slot) : 0;
}

static bool is_its(const struct kube_adoptee *j,
                   const struct kube_claimed *claim)
{
	return claim->ours && claim->owner.job == j->job &&
	       claim->owner.attempt == j->run.attempt;
}

/* Whether the claim was taken for these GPUs of the slot. */
static bool is_for(const struct kube_adoptee *j,
                   const struct kube_adopt_slot *slot, const struct part *part)
{
	const struct kube_claimed *claim = part->claim;

	return is_its(j, claim) && !strcmp(claim->node, slot->node) &&
	       claim->index == index_of(j, slot, part) &&
	       kube_devices_bits(j->kube, claim) == part->gpus;
}

static bool ask(struct kube_adoptee *j, enum kube_adopt_kind kind,
                struct kube_claimed *claim, json_t *body)
{
	text_set(&claim->asked, claim->version);
	kube_adopt_ask_grant(j, kind, claim->name, body);
	return false;
}

/* Whether the claim is reserved for no pod but those of the Job that are not
 * bound. */
static bool may_free(struct kube_adoptee *j, const struct kube_claimed *claim)
{
	const json_t *one;
	size_t i;

	json_array_foreach(claim->reserved, i, one) {
		const struct kube_adopt_pod *p =
		    kube_adopt_pod_find(j, kube_word_at(one, "uid"));

		if (!p || *p->pod.node || p->binding)
			return false;
	}
	return true;
}

/* Make the next call that takes a claim which is not for these GPUs. Fails the
 * start if the claim is in use. Returns false, because it has no GPUs yet. */
static bool take(struct kube_adoptee *j, struct kube_adopt_slot *slot,
                 const struct part *part, const struct kube_given *given)
{
	struct kube_claimed *claim = part->claim;
	const struct kube_home home = kube_space_home(j->space);
	const struct kube_grant_of of = { .home = &home,
		                          .owner = { j->job, j->run.attempt },
		                          .index = index_of(j, slot, part),
		                          .node = slot->node };
	bool its = claim->ours && claim->owner.job == j->job;

	if (claim->asked)
		return false;
	if (!its && claim->ours && kube_devices_is_planned(j->kube, claim))
		return fail(j, slot, FAULT_POOL,
		            xasprintf("ResourceClaim '%s' is in use by job "
		                      "%" PRIu64,
		                      claim->name, claim->owner.job));
	if (!claim->allocated)
		return ask(j, ADOPT_GRANT_TAKE, claim,
		           kube_grant_take(claim->obj, &of, given));
	if (may_free(j, claim))
		return ask(j, ADOPT_GRANT_FREE, claim,
		           kube_grant_freed(claim->obj));
	if (its) /* the cluster is about to free it */
		return false;
	return fail(j, slot, FAULT_POOL,
	            xasprintf("ResourceClaim '%s' has devices for other pods",
	                      claim->name));
}

static bool fail_rival(struct kube_adoptee *j, struct kube_adopt_slot *slot,
                       const struct kube_claimed *rival, const char *did)
{
	return fail(j, slot, FAULT_SYSTEM,
	            xasprintf("ResourceClaim '%s' in namespace '%s' %s a GPU "
	                      "of node '%s' that it was to have",
	                      rival->name, rival->namespace, did, slot->node));
}

/* Returns why the claim cannot have these GPUs on any node like this, on the
 * heap; NULL: it can. */
static char *why_not(const struct kube_adoptee *j,
                     const struct kube_adopt_slot *slot,
                     const struct part *part, const struct kube_given *given)
{
	const char *differs =
	    kube_wanted_differs(part->claim->obj, j->kube->pool, given);
	const struct kube_capacity *lack;
	json_t *amounts;

	if (differs)
		return xasprintf("GPUs of node '%s' do not have the same %s, "
		                 "which ResourceClaim '%s' demands",
		                 slot->node, differs, part->claim->name);
	for (uint32_t i = 0; i < given->n; i++) {
		if (!given->gpu[i].caps)
			continue;
		amounts =
		    kube_capacities_part(given->gpu[i].caps, 1000, 0, &lack);
		json_decref(amounts);
		if (!amounts)
			return xasprintf("node '%s' does not let a claim have "
			                 "all of GPU '%s'",
			                 slot->node, given->gpu[i].name);
	}
	return NULL;
}

/* Make the call that allocates GPUs to a claim, which was taken for them. Fails
 * the start if another claim has one of them. Returns false, because it has no
 * GPUs yet. */
static bool fill(struct kube_adoptee *j, struct kube_adopt_slot *slot,
                 const struct part *part, const struct kube_given *given)
{
	struct kube *kube = j->kube;
	struct kube_claimed *claim = part->claim;
	const struct kube_claimed *rival;
	const json_t *config = json_object_get(
	    json_object_get(kube->devices.class, "spec"), "config");
	char *why = why_not(j, slot, part, given);

	if (why)
		return fail(j, slot, FAULT_REFUSED, why);
	if (claim->asked)
		return false;
	rival = kube_devices_rival(kube, given, claim, UINT64_MAX);
	if (rival && is_its(j, rival)) /* of a pod that has ended */
		return false;
	if (rival)
		return fail_rival(j, slot, rival, "has");
	if (!claim->finalizer)
		return ask(j, ADOPT_GRANT_TAKE, claim,
		           kube_grant_finalizer(claim->uid, claim->version));
	kube_devices_expect(kube, claim, given);
	return ask(
	    j, ADOPT_GRANT_FILL, claim,
	    kube_grant_allocated(claim->obj, kube->pool->device_driver,
	                         slot->node, given, config,
	                         kube_grant_pods(NULL, slot->pod->pod.name,
	                                         slot->pod->pod.uid)));
}

/* Make the call that reserves an allocated claim for the slot's pod, too.
 * Returns false. */
static bool reserve(struct kube_adoptee *j, struct kube_adopt_slot *slot,
                    struct kube_claimed *claim)
{
	if (claim->asked)
		return false;
	if (json_array_size(claim->reserved) >= KUBE_RESERVED_MAX)
		return fail(j, slot, FAULT_USER,
		            xasprintf("ResourceClaim '%s' is reserved for %d "
		                      "pods, which is the most",
		                      claim->name, KUBE_RESERVED_MAX));
	return ask(j, ADOPT_GRANT_FILL, claim,
	           kube_grant_reserved(
		       claim->obj, kube_grant_pods(NULL, slot->pod->pod.name,
	                                           slot->pod->pod.uid)));
}

/* Make the next call that gives a claim its GPUs. Returns whether it has them.
 */
static bool give(struct kube_adoptee *j, struct kube_adopt_slot *slot,
                 const struct part *part)
{
	struct kube_claimed *claim = part->claim;
	const struct kube_claimed *rival;
	struct kube_given given;

	if (!kube_devices_find(j->kube, slot->node, part->gpus, 1000,
	                       (struct kube_part){ 0 }, &given))
		return fail(j, slot, FAULT_SYSTEM,
		            xasprintf("node '%s' no longer shows a GPU that it "
		                      "was to have",
		                      slot->node));
	if (!is_for(j, slot, part))
		return take(j, slot, part, &given);
	if (!claim->allocated)
		return fill(j, slot, part, &given);
	rival = kube_devices_rival(j->kube, &given, claim, claim->seq);
	if (rival)
		return fail_rival(j, slot, rival, "was given");
	if (!kube_grant_is_for(claim->reserved, slot->pod->pod.uid))
		return reserve(j, slot, claim);
	return !claim->asked;
}

/* --- the claims of a pod -------------------------------------------------- */

bool kube_adopt_give(struct kube_adoptee *j, struct kube_adopt_slot *slot)
{
	struct parts parts;
	struct err err;
	bool all = true;

	if (!slot->pod->pod.grants)
		return true;
	if (!kube_devices_has(j->kube, slot->node))
		return fail(j, slot, FAULT_REFUSED,
		            xasprintf("node '%s' gives its GPUs by a plugin, "
		                      "and the pods ask for ResourceClaims",
		                      slot->node));
	if (!read_parts(slot->pod, &parts, &err))
		return err.code ? fail(j, slot, FAULT_USER, xstrdup(err.text))
		                : false;
	if (!divide(j, slot, &parts))
		return fail(j, slot, FAULT_USER,
		            xasprintf("the ResourceClaims of pod %s are not "
		                      "for as many GPUs as when the %s was "
		                      "queued: delete it and create it again",
		                      slot->pod->pod.name,
		                      j->at.plain ? "pod" : "Job"));
	for (uint32_t i = 0; i < parts.n && !kube_adopt_end_is_due(j); i++)
		all &= give(j, slot, &parts.part[i]);
	return all;
}

struct kube_adopt_slot *kube_adopt_give_slot(const struct kube_adopt_pod *p)
{
	struct kube_adoptee *j = p->of;

	for (size_t i = 0; i < json_array_size(p->pod.grants); i++) {
		const struct kube_claimed *claim = claim_at(p, i);

		if (claim && is_its(j, claim) && claim->index < j->run.nslots &&
		    json_is_true(json_object_get(
			json_array_get(p->pod.grants, i), "own")))
			return &j->run.slot[claim->index];
	}
	return NULL;
}

bool kube_adopt_give_back(struct kube_adoptee *j)
{
	struct kube_adopt_pod *p;
	bool all = true;

	TAILQ_FOREACH(p, &j->pods, of_list)
		for (size_t i = 0; i < json_array_size(p->pod.grants); i++) {
			struct kube_claimed *claim = claim_at(p, i);

			if (!claim || !is_its(j, claim) || !claim->n ||
			    *p->pod.node || p->binding)
				continue;
			all = false;
			if (claim->allocated && !claim->asked &&
			    may_free(j, claim))
				ask(j, ADOPT_GRANT_FREE, claim,
				    kube_grant_freed(claim->obj));
		}
	return all;
}

void kube_adopt_give_settle(struct kube_adoptee *j)
{
	struct kube_claimed *claim;
	size_t at = 0;

	if (!j->run.by_claims)
		return;
	while ((claim = map_each(&j->kube->devices.claims, &at)))
		if (is_its(j, claim))
			kube_devices_settle_claim(j->kube, claim);
	kube_nodes_flush(j->kube->nodes);
}

bool kube_adopt_give_is_planned(const struct kube *kube,
                                const struct kube_claimed *claim)
{
	const struct kube_adoptee *j =
	    kube_adopt_of((struct kube *)kube, claim->owner.job);
	uint64_t bits;

	if (!j || !is_its(j, claim) || j->run.over)
		return false;
	bits = kube_devices_bits(kube, claim);
	for (uint32_t i = 0; i < j->run.nslots; i++)
		if (!strcmp(j->run.slot[i].node, claim->node) &&
		    !(bits & ~j->run.slot[i].gpus))
			return true;
	return !j->run.ordered; /* its slots are not known yet */
}

static bool may_come_right(const struct err *err)
{
	return err->code == ETIMEDOUT || err->code == EAGAIN ||
	       err->code == EIO || err->code == ESTALE || err->code == EEXIST ||
	       err->code == ENOENT;
}

void kube_adopt_give_answered(struct kube_adoptee *j, const char *name,
                              const struct err *err)
{
	struct kube_claimed *claim =
	    j->space ? kube_devices_claim(j->kube, j->space->name, name) : NULL;

	if (!err)
		return; /* the watch reports what has changed */
	if (claim)
		text_set(&claim->asked, NULL);
	if (!may_come_right(err))
		kube_adopt_end_fail(j, FAULT_POOL, err->text);
}
