/* share.c - GPUs that tasks share by one claim */
#include "aischedd/run/kube/device/share.h"

#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"

/* A DELETE that was not carried out is repeated after this. */
enum { AGAIN_MS = 5000 };

bool kube_share_is(const struct kube_attempt *a, const struct kube_slot *slot)
{
	return a->kube->pool->gpu_sharing == SHARING_CLAIMS && slot->gpus &&
	       slot->milli < 1000;
}

bool kube_share_name(const struct kube_attempt *a, const struct kube_slot *slot,
                     char ret[KUBE_GRANT_SIZE])
{
	struct kube_given given;

	if (!kube_devices_find(a->kube, slot->node, slot->gpus, slot->milli,
	                       slot->part, &given) ||
	    given.n != 1)
		return false;
	kube_grant_share_name(ret, a->kube->home.cluster, slot->node, &given);
	return true;
}

struct kube_claimed *kube_share_of(const struct kube_attempt *a, uint32_t index)
{
	const struct kube_task *task =
	    kube_attempt_at((struct kube_attempt *)a, index);
	const char *name = task ? task->pod.claim : NULL;
	struct kube_claimed *claim;

	if (!task)
		return NULL;
	if (!name || !*name)
		name =
		    kube_word_at(json_array_get(task->pod.grants, 0), "claim");
	claim = kube_devices_claim(a->kube, a->space->name, name);
	return claim && claim->share ? claim : NULL;
}

/* Whether the slot's task is one that the daemon counts, and has part of the
 * GPU of the claim. */
static bool has_part(const struct kube_attempt *a, const struct kube_slot *slot,
                     const struct kube_claimed *claim)
{
	return kube_share_is(a, slot) && !slot->told &&
	       !strcmp(slot->node, claim->node) &&
	       slot->gpus == kube_devices_bits(a->kube, claim);
}

/* Whether a task for which the claim is reserved is one that counts. */
static bool is_in_use(const struct kube *kube, const struct kube_claimed *claim)
{
	const json_t *one;
	size_t i;

	json_array_foreach(claim->reserved, i, one) {
		const struct kube_task *task =
		    kube_pods_find(kube, kube_word_at(one, "uid"));
		struct kube_attempt *a = task ? task->attempt : NULL;
		const struct kube_slot *slot =
		    a ? kube_slot_at(a, (uint32_t)task->pod.index) : NULL;

		if (slot && !a->end.over && has_part(a, slot, claim))
			return true;
	}
	return false;
}

struct search {
	const struct kube_claimed *claim;
	bool found, touch;
};

static void look_at(struct kube_attempt *a, void *arg)
{
	struct search *search = arg;
	bool has = false;

	for (uint32_t i = 0; !a->end.over && !has && i < a->slots.n; i++)
		has = has_part(a, &a->slots.slot[i], search->claim);
	search->found |= has;
	if (has && search->touch)
		kube_attempt_touch(a);
}

bool kube_share_is_planned(struct kube *kube, const struct kube_claimed *claim)
{
	struct search search = { .claim = claim };

	if (is_in_use(kube, claim))
		return true;
	kube_attempt_each(kube, look_at, &search);
	return search.found;
}

void kube_share_touch(struct kube *kube, const struct kube_claimed *claim)
{
	struct search search = { .claim = claim, .touch = true };

	kube_attempt_each(kube, look_at, &search);
}

void kube_share_step(struct kube *kube, struct kube_claimed *claim)
{
	struct kube_space *space;
	int64_t now = clock_boot_ms();

	if (!claim->share || claim->allocated || claim->deleting ||
	    claim->asked || !kube->recovery.done ||
	    !kube_lease_left_ms(kube->lease) ||
	    (claim->drop_ms && now - claim->drop_ms < AGAIN_MS) ||
	    (!claim->drop_ms && kube_share_is_planned(kube, claim)))
		return;
	space = kube_space_find(kube, claim->namespace);
	claim->drop_ms = now;
	kube_ask_loose_grant(space, ASK_GRANT_DROP, claim->name,
	                     kube_grant_deletion(claim->uid, claim->version));
}

void kube_share_step_all(struct kube *kube)
{
	struct kube_claimed *claim;
	size_t at = 0;

	if (kube->pool->gpu_sharing != SHARING_CLAIMS)
		return;
	while ((claim = map_each(&kube->devices.claims, &at)))
		kube_share_step(kube, claim);
}
