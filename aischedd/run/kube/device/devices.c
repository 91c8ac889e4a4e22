/* devices.c - ResourceClaims, and which of them has which GPU */
#include "aischedd/run/kube/device/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/adopt/give.h"
#include "aischedd/run/kube/ask.h"
#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/device/counters.h"
#include "aischedd/run/kube/device/made.h"
#include "aischedd/run/kube/device/share.h"
#include "aischedd/run/kube/device/shown.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

/* How long a claim that no task needs may keep its devices before it is
 * stirred, and how long before that is repeated. */
enum { STIR_MS = 15000, STIR_AGAIN_MS = 60000 };

/* The claims that have a certain device; several claims only if it is shared,
 * or a scheduler made a mistake. */
struct holders {
	struct kube_claimed **claim;
	size_t n, cap;
};

static uint64_t pair_key(const char *a, const char *b)
{
	return hash_bytes(hash_bytes(0, a, strlen(a) + 1), b, strlen(b));
}

/* --- which claims have a device ------------------------------------------- */

/* The key of a device of a kind in the map of uses. */
static uint64_t dev_key(const struct kube *kube, uint8_t kind, const char *pool,
                        const char *name)
{
	const char *driver = kube->pool->kinds[kind].driver;

	return hash_bytes(pair_key(pool, name), driver, strlen(driver));
}

static void use_add(struct kube_devices *devices, struct kube_claimed *claim,
                    uint64_t key)
{
	void **at = map_at(&devices->uses, key);
	struct holders *use = *at;

	if (!use)
		*at = use = xcalloc(1, sizeof(*use));
	use->claim = GROW(use->claim, use->n, &use->cap);
	use->claim[use->n++] = claim;
}

static void use_del(struct kube_devices *devices,
                    const struct kube_claimed *claim, uint64_t key)
{
	struct holders *use = map_find(&devices->uses, key);

	for (size_t i = 0; use && i < use->n; i++)
		if (use->claim[i] == claim) {
			use->claim[i] = use->claim[--use->n];
			break;
		}
	if (!use || use->n)
		return;
	map_del(&devices->uses, key);
	free(use->claim);
	free(use);
}

/* Whether the task of the slot is to have the devices of the claim that are for
 * it. */
static bool suits(const struct kube *kube, const struct kube_slot *slot,
                  const struct kube_claimed *claim)
{
	uint64_t bits;

	if (slot->told || strcmp(slot->node, claim->node) != 0)
		return false;
	bits = kube_devices_bits_of(kube, claim, slot->index);
	if (kube_kinds_is_known(slot->devs) &&
	    strcmp(slot->devs, claim->devs) != 0)
		return false;
	return !bits || !slot->gpus ||
	       (bits == slot->gpus &&
	        kube_part_is_same(claim->part, slot->part));
}

bool kube_devices_is_planned(const struct kube *kube,
                             const struct kube_claimed *claim)
{
	struct kube_attempt *a =
	    claim->ours ? kube_attempt_find((struct kube *)kube, &claim->owner)
			: NULL;
	bool any = false;

	if (claim->share)
		return kube_share_is_planned((struct kube *)kube, claim);
	if (claim->ours && !a)
		return kube_adopt_give_is_planned(kube, claim);
	if (!a || a->end.over)
		return false;
	for (uint32_t i = 0; i < claim->npods; i++) {
		const struct kube_slot *slot = kube_slot_at(a, claim->pod[i]);

		if (slot && !suits(kube, slot, claim))
			return false;
		any |= slot != NULL;
	}
	return any;
}

enum kube_kind_use kube_devices_use(const struct kube *kube, uint8_t kind,
                                    const char *pool, const char *name)
{
	const struct holders *use =
	    map_find(&kube->devices.uses, dev_key(kube, kind, pool, name));

	for (size_t i = 0; use && i < use->n; i++)
		if (kube_devices_is_planned(kube, use->claim[i]))
			return KIND_OURS;
	return use ? KIND_HELD : KIND_FREE;
}

bool kube_devices_is_claimed(const struct kube *kube, const char *pool,
                             const char *name)
{
	return map_find(&kube->devices.uses, pair_key(pool, name)) != NULL;
}

/* Returns how much of a capacity of a device a claim has. */
static int64_t has_of(const struct kube_claimed *claim, const char *pool,
                      const char *name, const struct kube_capacity *c)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < claim->n; i++)
		if (!strcmp(claim->gpu[i].pool, pool) &&
		    !strcmp(claim->gpu[i].name, name))
			sum += kube_capacity_used(c, claim->gpu[i].consumed);
	return sum < c->all ? sum : c->all;
}

/* Whether the claim counts as having its devices before that point in the order
 * of allocations. A claim that is being filled has no place in that order, so
 * it counts only if the order does not matter. */
static bool counts(const struct kube_claimed *claim, uint64_t before)
{
	return before == UINT64_MAX || (claim->seq && claim->seq < before);
}

/* Returns how much of a capacity the claims that use a device have, at most
 * all. Leaves out the claim `but`. */
static int64_t used_of(const struct holders *use, const char *pool,
                       const char *name, const struct kube_capacity *c,
                       const struct kube_claimed *but, uint64_t before)
{
	int64_t sum = 0;

	for (size_t i = 0; i < use->n && sum < c->all; i++)
		if (use->claim[i] != but && counts(use->claim[i], before))
			sum += has_of(use->claim[i], pool, name, c);
	return sum < c->all ? sum : c->all;
}

/* Whether the claim is in the list of users of a device because it has a
 * partition of that. */
static bool has_part_of(const struct kube_claimed *claim, const char *pool,
                        const char *name)
{
	return claim->of_name && !strcmp(claim->of_name, name) &&
	       !strcmp(claim->of_pool, pool);
}

void kube_devices_units(const struct kube *kube, const char *pool,
                        const char *name, uint8_t *ret_ours, uint8_t *ret_held)
{
	const struct holders *use =
	    map_find(&kube->devices.uses, pair_key(pool, name));

	*ret_ours = *ret_held = 0;
	for (size_t i = 0; use && i < use->n; i++) {
		const struct kube_claimed *claim = use->claim[i];
		uint8_t units = has_part_of(claim, pool, name)
		                    ? claim->part.units
		                    : UINT8_MAX;

		*(kube_devices_is_planned(kube, claim) ? ret_ours : ret_held) |=
		    units;
	}
}

uint64_t kube_devices_parts(const struct kube *kube, const char *pool,
                            const char *name, uint64_t parts)
{
	const struct holders *use =
	    map_find(&kube->devices.uses, pair_key(pool, name));

	for (size_t i = 0; use && i < use->n; i++) {
		struct kube_part had = use->claim[i]->part;

		for (uint32_t unit = 0; unit < MIG_UNITS; unit++) {
			uint8_t profile = mig_parts_at(parts, unit);
			struct kube_part is = { profile,
				                mig_mask(profile, unit) };

			if (is.units & had.units && !kube_part_is_same(is, had))
				parts &= ~((uint64_t)UINT8_MAX << 8 * unit);
		}
	}
	return parts;
}

uint32_t kube_devices_used(const struct kube *kube, const char *pool,
                           const char *name, const struct kube_capacities *caps,
                           uint32_t *ret_ours)
{
	const struct holders *use =
	    map_find(&kube->devices.uses, pair_key(pool, name));
	uint32_t most = use && !(caps && caps->n) ? 1000 : 0, ours = 0;

	for (size_t i = 0; use && i < use->n && ours < 1000; i++)
		if (kube_devices_is_planned(kube, use->claim[i]))
			ours += has_part_of(use->claim[i], pool, name)
			            ? (uint32_t)mig_milli(
					  use->claim[i]->part.profile)
			            : use->claim[i]->milli;
	for (uint32_t i = 0; use && caps && i < caps->n; i++) {
		const struct kube_capacity *c = &caps->of[i];
		int64_t used = used_of(use, pool, name, c, NULL, UINT64_MAX);
		uint32_t milli =
		    (uint32_t)((used * 1000 + c->all - 1) / c->all);

		most = milli > most ? milli : most;
	}
	*ret_ours = ours < 1000 ? ours : 1000;
	return most;
}

/* Whether claims other than `mine` leave too little of device i for it. */
static bool is_full(const struct holders *use, const struct kube_given *given,
                    uint32_t i, const struct kube_claimed *mine,
                    uint64_t before)
{
	const struct kube_capacities *caps = given->gpu[i].caps;
	json_t *wants = kube_grant_amounts(mine->obj, given, i);
	bool full = !wants || !caps->n;

	for (uint32_t k = 0; !full && k < caps->n; k++) {
		const struct kube_capacity *c = &caps->of[k];

		full = used_of(use, given->gpu[i].pool, given->gpu[i].name, c,
		               mine,
		               before) > c->all - kube_capacity_used(c, wants);
	}
	json_decref(wants);
	return full;
}

/* A search for a claim that keeps `mine` from having a device. */
struct search {
	const struct kube *kube;
	const struct kube_claimed *mine;
	uint64_t before;
	const char *pool; /* of the device */
	const struct kube_gpu *gpu;
	const struct kube_claimed *found;
};

/* Whether the claim has a partition of the device of that name, and the sought
 * device is a partition beside it. */
static bool is_beside(const struct search *search,
                      const struct kube_claimed *claim, const char *name)
{
	return search->gpu->is_part && has_part_of(claim, search->pool, name) &&
	       !(search->gpu->units & claim->part.units);
}

/* Note a claim among these, which have the device of that name, if it is a GPU
 * or a partition; prefer one of another attempt. */
static void look_among(struct search *search, const struct holders *use,
                       const char *name)
{
	const struct kube_claimed *was = search->found;

	for (size_t i = 0; use && i < use->n; i++) {
		const struct kube_claimed *other = use->claim[i];

		if (other != search->mine && counts(other, search->before) &&
		    !(name && is_beside(search, other, name)) &&
		    (!was ||
		     (was->ours && was->owner.job == search->mine->owner.job)))
			search->found = was = other;
	}
}

/* Look at a device that consumes counters of the same set. */
static void look_beside(const struct kube_shown *node,
                        const struct kube_gpu *gpu, void *arg)
{
	struct search *search = arg;

	if (strcmp(gpu->name, search->gpu->name) != 0 &&
	    !kube_made_beside(node, gpu, search->gpu))
		look_among(search,
		           map_find(&search->kube->devices.uses,
		                    pair_key(search->pool, gpu->name)),
		           gpu->name);
}

static uint64_t given_key(const struct kube *kube,
                          const struct kube_given_dev *dev)
{
	return dev_key(kube, (uint8_t)(dev->kind - kube->pool->kinds),
	               dev->pool, dev->name);
}

const struct kube_claimed *kube_devices_rival(const struct kube *kube,
                                              const struct kube_given *given,
                                              const struct kube_claimed *mine,
                                              uint64_t before)
{
	struct search search = { kube, mine, before, NULL, NULL, NULL };

	for (uint32_t i = 0; i < given->ndevs; i++)
		look_among(&search,
		           map_find(&kube->devices.uses,
		                    given_key(kube, &given->dev[i])),
		           NULL);
	for (uint32_t i = 0; i < given->n; i++) {
		const struct holders *use =
		    map_find(&kube->devices.uses,
		             pair_key(given->gpu[i].pool, given->gpu[i].name));

		search.pool = given->gpu[i].pool;
		search.gpu = given->gpu[i].shown;
		if (use && is_full(use, given, i, mine, before))
			look_among(&search, use, given->gpu[i].name);
		if (given->gpu[i].set)
			kube_counters_each(kube, given->node, search.pool,
			                   given->gpu[i].set, look_beside,
			                   &search);
	}
	return search.found;
}

/* --- handle what the watches report --------------------------------------- */

struct kube_claimed *kube_devices_claim(const struct kube *kube,
                                        const char *namespace, const char *name)
{
	return map_find(&kube->devices.claims, pair_key(namespace, name));
}

static void touch_nodes(struct kube *kube, const struct kube_claimed *claim)
{
	for (uint32_t i = 0; i < claim->n; i++)
		kube_shown_touch_pool(kube, claim->gpu[i].pool);
	for (uint32_t i = 0; i < claim->ndevs; i++)
		kube_kinds_touch(kube, claim->dev[i].kind, claim->dev[i].pool);
}

static void free_devs(struct kube *kube, struct kube_claimed *claim)
{
	for (uint32_t i = 0; i < claim->ndevs; i++) {
		struct kube_claimed_dev *dev = &claim->dev[i];

		use_del(&kube->devices, claim,
		        dev_key(kube, dev->kind, dev->pool, dev->name));
		free(dev->pool);
		free(dev->name);
	}
	free(claim->dev);
	claim->dev = NULL;
	claim->ndevs = 0;
}

static void free_gpus(struct kube *kube, struct kube_claimed *claim)
{
	touch_nodes(kube, claim);
	for (uint32_t i = 0; i < claim->n; i++) {
		use_del(&kube->devices, claim,
		        pair_key(claim->gpu[i].pool, claim->gpu[i].name));
		free(claim->gpu[i].pool);
		free(claim->gpu[i].name);
		json_decref(claim->gpu[i].consumed);
	}
	if (claim->of_name)
		use_del(&kube->devices, claim,
		        pair_key(claim->of_pool, claim->of_name));
	free_devs(kube, claim);
	free(claim->gpu);
	free(claim->of_pool);
	free(claim->of_name);
	claim->gpu = NULL;
	claim->of_pool = claim->of_name = NULL;
	claim->n = 0;
}

void kube_devices_settle_claim(struct kube *kube, struct kube_claimed *claim)
{
	touch_nodes(kube, claim);
	if (!claim->allocated)
		free_gpus(kube, claim);
}

static void claimed_fini(struct kube *kube, struct kube_claimed *claim)
{
	free_gpus(kube, claim);
	free(claim->namespace);
	free(claim->name);
	free(claim->uid);
	free(claim->version);
	free(claim->node);
	free(claim->gpus);
	free(claim->devs);
	json_decref(claim->obj);
	json_decref(claim->reserved);
	*claim = (struct kube_claimed){ .asked = claim->asked,
		                        .seq = claim->seq,
		                        .idle_ms = claim->idle_ms,
		                        .stir_ms = claim->stir_ms,
		                        .drop_ms = claim->drop_ms };
}

static void add_gpu(struct kube *kube, struct kube_claimed *claim,
                    const char *pool, const char *name, json_t *consumed)
{
	claim->gpu[claim->n] =
	    (struct kube_claimed_gpu){ xstrdup(pool), xstrdup(name), consumed };
	claim->n++;
	use_add(&kube->devices, claim, pair_key(pool, name));
}

static void add_dev(struct kube *kube, struct kube_claimed *claim, uint8_t kind,
                    const char *pool, const char *name)
{
	claim->dev[claim->ndevs++] =
	    (struct kube_claimed_dev){ kind, xstrdup(pool), xstrdup(name) };
	use_add(&kube->devices, claim, dev_key(kube, kind, pool, name));
}

/* Note that the claim has a partition of the GPU in its annotation. */
static void add_of(struct kube *kube, struct kube_claimed *claim)
{
	if (!claim->part.units || !claim->n || claim->of_name ||
	    !kube_shown_first(claim->gpus, &claim->of_pool, &claim->of_name))
		return;
	use_add(&kube->devices, claim,
	        pair_key(claim->of_pool, claim->of_name));
}

void kube_devices_expect(struct kube *kube, struct kube_claimed *claim,
                         const struct kube_given *given)
{
	if (claim->n || claim->ndevs)
		return; /* it was asked before */
	free(claim->gpu);
	free(claim->dev);
	claim->gpu = xcalloc(given->n + 1, sizeof(*claim->gpu));
	claim->dev = xcalloc(given->ndevs + 1, sizeof(*claim->dev));
	for (uint32_t i = 0; i < given->ndevs; i++)
		add_dev(kube, claim,
		        (uint8_t)(given->dev[i].kind - kube->pool->kinds),
		        given->dev[i].pool, given->dev[i].name);
	for (uint32_t i = 0; i < given->n; i++)
		add_gpu(kube, claim, given->gpu[i].pool, given->gpu[i].name,
		        kube_grant_amounts(claim->obj, given, i));
	add_of(kube, claim);
}

/* Store the devices that the claim has from drivers of ours in claim->gpu and
 * claim->dev. */
static void take_results(struct kube *kube, struct kube_claimed *claim,
                         const json_t *results)
{
	size_t n = json_array_size(results) + 1, i;
	const json_t *one;

	claim->gpu = xcalloc(n, sizeof(*claim->gpu));
	claim->dev = xcalloc(n, sizeof(*claim->dev));
	json_array_foreach(results, i, one) {
		const char *driver = kube_word_at(one, "driver");
		const char *pool = kube_text_at(one, "pool");
		const char *name = kube_text_at(one, "device");
		int kind = kube_kinds_of(kube->pool, driver);

		if (!pool || !name)
			continue;
		if (kind >= 0)
			add_dev(kube, claim, (uint8_t)kind, pool, name);
		else if (!strcmp(driver, kube->pool->device_driver))
			add_gpu(kube, claim, pool, name,
			        json_incref(
				    json_object_get(one, "consumedCapacity")));
	}
	add_of(kube, claim);
	touch_nodes(kube, claim);
}

static void take(struct kube *kube, struct kube_claimed *claim, json_t *obj,
                 const struct kube_granted *said)
{
	claim->namespace = xstrdup(said->namespace);
	claim->name = xstrdup(said->name);
	claim->uid = xstrdup(said->uid);
	claim->version = xstrdup(said->version);
	claim->node = xstrdup(said->node);
	claim->gpus = xstrdup(said->gpus);
	claim->devs = xstrdup(said->devs);
	claim->reserved = json_incref((json_t *)said->reserved);
	claim->owner = said->owner;
	claim->index = said->index;
	claim->npods = said->npods;
	memcpy(claim->pod, said->pod, sizeof(claim->pod));
	claim->milli = said->milli;
	claim->part = said->part;
	claim->ours = said->ours;
	claim->share = said->share;
	claim->deleting = said->deleting;
	claim->finalizer = said->finalizer;
	claim->allocated = said->allocated;
	claim->obj =
	    kube_space_find(kube, said->namespace) ? json_incref(obj) : NULL;
	if (claim->asked && strcmp(claim->asked, claim->version) != 0)
		text_set(&claim->asked, NULL);
	if (!claim->allocated)
		claim->seq = 0;
	else if (!claim->seq)
		claim->seq = ++kube->devices.seq;
	take_results(kube, claim, said->results);
}

static void claim_free(struct kube *kube, struct kube_claimed *claim)
{
	map_del(&kube->devices.claims, pair_key(claim->namespace, claim->name));
	claimed_fini(kube, claim);
	free(claim->asked);
	free(claim);
}

static bool read_claim(const struct kube *kube, const json_t *obj,
                       struct kube_granted *ret)
{
	if (!kube_grant_read(obj, &kube->home, ret))
		return false;
	ret->ours = ret->ours && kube_space_find(kube, ret->namespace);
	return true;
}

/* Make the attempt for which a claim is look at it. */
static void touch_owner(struct kube *kube, const struct kube_owner *owner)
{
	struct kube_attempt *a = kube_attempt_find(kube, owner);
	struct kube_adoptee *j = a ? NULL : kube_adopt_of(kube, owner->job);

	if (a)
		kube_attempt_touch(a);
	if (j && j->run.attempt == owner->attempt)
		kube_adopt_step(j);
}

static void touch_sharing(struct kube_attempt *a, void *arg)
{
	(void)arg;
	if (kube_give_is_claimed(a) && !a->end.over)
		kube_attempt_touch(a);
}

static void on_claim(struct kube *kube, json_t *obj, bool deleted)
{
	struct kube_claimed *claim;
	struct kube_granted said;
	uint64_t key;
	bool is_new;

	if (!read_claim(kube, obj, &said))
		return;
	key = pair_key(said.namespace, said.name);
	claim = map_find(&kube->devices.claims, key);
	is_new = !claim && !deleted;
	if (claim && !deleted && *said.version &&
	    !strcmp(claim->version, said.version)) {
		claim->marked = false; /* as it was; keep what we expect */
		return;
	}
	if (deleted ||
	    (!said.allocated && !kube_space_find(kube, said.namespace))) {
		if (claim)
			claim_free(kube, claim);
	} else {
		if (!claim) {
			claim = xcalloc(1, sizeof(*claim));
			map_set(&kube->devices.claims, key, claim);
		} else {
			claimed_fini(kube, claim);
		}
		take(kube, claim, obj, &said);
		if (claim->ours) {
			kube_shown_seed(kube, claim->node, claim->gpus);
			kube_kinds_seed(kube, claim->node, claim->devs);
		}
	}
	claim = map_find(&kube->devices.claims, key);
	if (said.share && claim) {
		kube_share_touch(kube, claim);
		kube_share_step(kube, claim);
	} else if (said.share) {
		kube_attempt_each(kube, touch_sharing, NULL);
	} else if (said.ours)
		touch_owner(kube, &said.owner);
	else if (is_new)
		kube_adopt_claim_made(kube);
}

void kube_devices_answered(struct kube *kube, json_t *obj)
{
	struct kube_granted said;

	/* Ignore the answer if the watch has already shown the claim, perhaps
	 * in a newer version. */
	if (read_claim(kube, obj, &said) &&
	    !kube_devices_claim(kube, said.namespace, said.name))
		on_claim(kube, obj, false);
}

static void mark(struct kube *kube)
{
	struct kube_claimed *claim;
	size_t at = 0;

	while ((claim = map_each(&kube->devices.claims, &at)))
		claim->marked = true;
}

/* Free the claims that are marked; if `with`, also those that are not. */
static void drop(struct kube *kube, bool with)
{
	struct map *claims = &kube->devices.claims;
	uint64_t *gone = xcalloc(claims->n + 1, sizeof(*gone));
	size_t n = 0;

	for (size_t i = 0; i < claims->cap; i++) {
		struct kube_claimed *claim = claims->slot[i].value;

		if (claim && (with || claim->marked))
			gone[n++] = claims->slot[i].key;
	}
	for (size_t i = 0; i < n; i++)
		claim_free(kube, map_find(claims, gone[i]));
	free(gone);
}

static void claims_news(struct kube *kube, enum kube_news news, json_t *obj)
{
	if (news == KUBE_RESET)
		mark(kube);
	else if (news == KUBE_SYNCED)
		drop(kube, false);
	else if (news != KUBE_TROUBLE)
		on_claim(kube, obj, news == KUBE_DELETED);
}

static void set_class(json_t **class, enum kube_news news, json_t *obj)
{
	json_decref(*class);
	*class = news == KUBE_DELETED ? NULL : json_incref(obj);
}

static void class_news(struct kube *kube, enum kube_news news, json_t *obj)
{
	const char *name =
	    kube_text_at(json_object_get(obj, "metadata"), "name");
	const struct conf_pool *pool = kube->pool;

	if (name && !strcmp(name, pool->device_class))
		set_class(&kube->devices.class, news, obj);
	if (name && !strcmp(name, pool->mig_class))
		set_class(&kube->devices.mig_class, news, obj);
	kube_kinds_class_news(kube, news, obj);
}

/* --- templates of claims -------------------------------------------------- */

/* A ResourceClaimTemplate. */
struct template
{
	json_t *obj;
	bool marked; /* the list being read has not shown it yet */
};

static void template_free(struct map *templates, uint64_t key)
{
	struct template *it = map_del(templates, key);

	if (it)
		json_decref(it->obj);
	free(it);
}

static void on_template(struct kube *kube, json_t *obj, bool deleted)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *namespace = kube_word_at(meta, "namespace");
	const char *name = kube_word_at(meta, "name");
	uint64_t key = pair_key(namespace, name);
	struct template *it;

	template_free(&kube->devices.templates, key);
	if (deleted || !kube_space_find(kube, namespace))
		return;
	it = xcalloc(1, sizeof(*it));
	it->obj = json_incref(obj);
	map_set(&kube->devices.templates, key, it);
	kube_adopt_claim_made(kube);
}

/* Free the templates that are marked; if `with`, also those that are not. */
static void drop_templates(struct kube *kube, bool with)
{
	struct map *map = &kube->devices.templates;
	uint64_t *gone = xcalloc(map->n + 1, sizeof(*gone));
	size_t n = 0;

	for (size_t i = 0; i < map->cap; i++) {
		const struct template *it = map->slot[i].value;

		if (it && (with || it->marked))
			gone[n++] = map->slot[i].key;
	}
	for (size_t i = 0; i < n; i++)
		template_free(map, gone[i]);
	free(gone);
}

static void templates_news(struct kube *kube, enum kube_news news, json_t *obj)
{
	struct template *it;
	size_t at = 0;

	if (news == KUBE_RESET)
		while ((it = map_each(&kube->devices.templates, &at)))
			it->marked = true;
	else if (news == KUBE_SYNCED)
		drop_templates(kube, false);
	else if (news != KUBE_TROUBLE)
		on_template(kube, obj, news == KUBE_DELETED);
}

const json_t *kube_devices_template(const struct kube *kube,
                                    const char *namespace, const char *name)
{
	const struct template *it =
	    map_find(&kube->devices.templates, pair_key(namespace, name));

	return it ? it->obj : NULL;
}

void kube_devices_news(struct kube *kube, int what, enum kube_news news,
                       json_t *obj)
{
	if (what == SEE_SLICES) {
		kube_shown_news(kube, news, obj);
		kube_kinds_news(kube, news, obj);
	} else if (what == SEE_GRANTS)
		claims_news(kube, news, obj);
	else if (what == SEE_GRANT_TEMPLATES)
		templates_news(kube, news, obj);
	else
		class_news(kube, news, obj);
}

/* --- report to the daemon ------------------------------------------------- */

void kube_devices_touch(struct kube_attempt *a)
{
	uint32_t n =
	    a->slots.have > a->slots.indexes ? a->slots.have : a->slots.indexes;
	char name[KUBE_GRANT_SIZE];

	if (!kube_give_is_claimed(a))
		return;
	for (uint32_t i = 0; i < a->slots.n; i++)
		if (kube_share_is(a, &a->slots.slot[i]))
			kube_nodes_retell(a->kube->nodes,
			                  a->slots.slot[i].node);
	for (uint32_t i = 0; i < n; i++) {
		const struct kube_claimed *claim;

		kube_grant_name(name, a->name, i);
		claim = kube_devices_claim(a->kube, a->space->name, name);
		if (claim)
			touch_nodes(a->kube, claim);
	}
}

void kube_devices_settle(struct kube_attempt *a)
{
	kube_devices_touch(a);
	if (kube_give_is_claimed(a))
		kube_nodes_flush(a->kube->nodes);
	for (uint32_t i = 0; i < a->slots.n; i++) {
		struct kube_claimed *claim = kube_share_of(a, i);

		if (claim)
			kube_share_step(a->kube, claim);
	}
}

/* Whether a pod of ours for which the claim is reserved still exists. */
static bool has_pod(struct kube *kube, const struct kube_claimed *claim)
{
	const json_t *one;
	size_t i;

	json_array_foreach(claim->reserved, i, one) {
		if (kube_pods_find(kube, kube_word_at(one, "uid")))
			return true;
	}
	return false;
}

/* The controller looks at a claim when that changes, and when a pod that names
 * it ends. If a pod is deleted before its status names the claim, and the claim
 * has changed for the last time while the pod was there, the claim would keep
 * its devices for ever. So change it. */
static void stir(struct kube *kube, struct kube_claimed *claim)
{
	struct kube_space *space = kube_space_find(kube, claim->namespace);
	int64_t now = clock_boot_ms();

	if (!space || !claim->allocated || claim->asked ||
	    now - claim->idle_ms < STIR_MS ||
	    (claim->stir_ms && now - claim->stir_ms < STIR_AGAIN_MS) ||
	    !kube->recovery.done || !kube_lease_left_ms(kube->lease) ||
	    has_pod(kube, claim))
		return;
	claim->stir_ms = now;
	kube_ask_loose_grant(space, ASK_GRANT_STIR, claim->name,
	                     kube_grant_stirred(claim->uid, claim->version));
}

void kube_devices_step(struct kube *kube)
{
	struct kube_claimed *claim;
	size_t at = 0;

	while ((claim = map_each(&kube->devices.claims, &at))) {
		if (!claim->ours || (!claim->n && !claim->ndevs) ||
		    kube_devices_is_planned(kube, claim)) {
			claim->idle_ms = 0;
			continue;
		}
		if (!claim->idle_ms)
			claim->idle_ms = clock_boot_ms();
		stir(kube, claim);
	}
}

/* Returns a claim of ours that still has devices long after its task ended,
 * because the cluster's controller does not free them; NULL: there is none. */
static const struct kube_claimed *find_stuck(struct kube *kube)
{
	int64_t least =
	    clock_boot_ms() - kube->conf->scheduling.evict_timeout * 1000;
	const struct kube_claimed *claim, *found = NULL;
	size_t at = 0;

	while ((claim = map_each(&kube->devices.claims, &at))) {
		if (claim->idle_ms && claim->idle_ms < least &&
		    (!found || strcmp(claim->name, found->name) < 0))
			found = claim;
	}
	return found;
}

const char *kube_devices_lacks(struct kube *kube)
{
	struct buf *lacks = &kube->devices.lacks;
	const struct err *blind = &kube->sight.blind[SEE_SLICES];
	const struct kube_claimed *stuck = find_stuck(kube);

	buf_clear(lacks);
	/* ENOENT: the cluster has no ResourceSlices. Then device plugins give
	 * the GPUs, so there is nothing to report. */
	if (kube->pool->devices == DEVICES_AUTO && blind->code &&
	    blind->code != ENOENT)
		buf_printf(lacks, "%s, or set devices = plugin", blind->text);
	kube_shown_lacks(kube, lacks);
	kube_kinds_lacks(kube, lacks);
	if (kube->pool->gpu_sharing == SHARING_CLAIMS && kube->devices.nodes.n)
		buf_printf(lacks,
		           "%snothing keeps a task from using more memory of a "
		           "GPU than its part (gpu_sharing = claims)",
		           lacks->len ? "; " : "");
	if (stuck)
		buf_printf(lacks,
		           "%sResourceClaim '%s' of a task that ended still "
		           "has %s of node '%s'",
		           lacks->len ? "; " : "", stuck->name,
		           stuck->n ? "GPUs" : "devices", stuck->node);
	return lacks->len ? lacks->data : NULL;
}

void kube_devices_free(struct kube *kube)
{
	struct kube_devices *devices = &kube->devices;

	drop(kube, true);
	drop_templates(kube, true);
	kube_shown_free(kube);
	kube_kinds_free(kube);
	map_free(&devices->templates);
	map_free(&devices->claims);
	map_free(&devices->uses);
	json_decref(devices->class);
	json_decref(devices->mig_class);
	buf_free(&devices->lacks);
}
