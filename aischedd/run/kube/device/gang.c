/* gang.c - join pods of an attempt that have one claim */
#include "aischedd/run/kube/device/gang.h"

#include <stdlib.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/mem.h"

void kube_gang_free(struct kube_gang *gang)
{
	free(gang->first);
	free(gang->next);
	*gang = (struct kube_gang){ 0 };
}

/* Let each of n pods have a claim of its own. */
static void begin(struct kube_gang *gang, uint32_t n)
{
	kube_gang_free(gang);
	gang->n = n;
	gang->first = xcalloc(n + 1, sizeof(*gang->first));
	gang->next = xcalloc(n + 1, sizeof(*gang->next));
	for (uint32_t i = 0; i < n; i++)
		gang->first[i] = i;
}

uint32_t kube_gang_first(const struct kube_attempt *a, uint32_t index)
{
	return index < a->give.gang.n ? a->give.gang.first[index] : index;
}

uint32_t kube_gang_next(const struct kube_attempt *a, uint32_t index)
{
	return index < a->give.gang.n ? a->give.gang.next[index] : 0;
}

/* Returns the claim that has the name of that of the pod of this index, if it
 * is ours; else NULL. */
static const struct kube_claimed *claim_of(const struct kube_attempt *a,
                                           uint32_t index)
{
	const struct kube_claimed *claim;
	char name[KUBE_GRANT_SIZE];

	kube_grant_name(name, a->name, index);
	claim = kube_devices_claim(a->kube, a->space->name, name);
	return claim && claim->ours ? claim : NULL;
}

/* Whether the attempt keeps its tasks, each in its first pod, until it ends. */
static bool is_fixed(const struct kube_attempt *a, const struct run_job *job)
{
	struct spec_loss loss = spec_loss(job->spec);

	return !a->give.named && job->spec->min_tasks == SPEC_UNSET &&
	       !a->make.replace && !loss.least && !a->make.loss.least;
}

/* Whether the slots of the attempt are those of indexes 0 to n - 1, and each
 * gets as many whole GPUs by claims, and nothing else. */
static bool is_plain(const struct kube_attempt *a)
{
	const struct kube_slot *slot = a->slots.slot;

	for (uint32_t i = 0; i < a->slots.n; i++)
		if (slot[i].index != i || slot[i].milli < 1000 ||
		    slot[i].part.units || slot[i].devs || !slot[i].gpus ||
		    __builtin_popcountll(slot[i].gpus) !=
		        __builtin_popcountll(slot[0].gpus))
			return false;
	return a->give.by_claims;
}

/* Let the pods on each node have one claim, or more if it cannot have that many
 * GPUs. */
static void join(struct kube_attempt *a)
{
	struct kube_gang *gang = &a->give.gang;
	uint32_t most = KUBE_GRANT_PODS /
	                (uint32_t)__builtin_popcountll(a->slots.slot[0].gpus);
	uint32_t *size = xcalloc(a->slots.n, sizeof(*size));
	struct map last = { 0 }; /* by node: the last pod, its index + 1 */

	begin(gang, a->slots.n);
	for (uint32_t i = 0; i < a->slots.n; i++) {
		uint64_t key = kube_text_key(a->slots.slot[i].node);
		uintptr_t was = (uintptr_t)map_find(&last, key);

		if (was && size[gang->first[was - 1]] < most) {
			gang->first[i] = gang->first[was - 1];
			gang->next[was - 1] = i;
		}
		size[gang->first[i]]++;
		map_set(&last, key, (void *)((uintptr_t)i + 1));
	}
	map_free(&last);
	free(size);
}

/* Whether an earlier version of the daemon has made a claim for one of several
 * pods that were to have one. */
static bool has_own(const struct kube_attempt *a)
{
	for (uint32_t i = 0; i < a->slots.n; i++) {
		const struct kube_claimed *claim = claim_of(a, i);

		if (claim && claim->npods == 1 &&
		    (kube_gang_first(a, i) != i || kube_gang_next(a, i)))
			return true;
	}
	return false;
}

void kube_gang_order(struct kube_attempt *a, const struct run_job *job)
{
	kube_gang_free(&a->give.gang);
	if (a->slots.n < 2 || !is_fixed(a, job) || !is_plain(a))
		return;
	join(a);
	if (has_own(a))
		kube_gang_free(&a->give.gang);
}

void kube_gang_recall(struct kube_attempt *a)
{
	struct kube_gang *gang = &a->give.gang;

	begin(gang, a->slots.have);
	for (uint32_t i = 0; i < gang->n; i++) {
		const struct kube_claimed *claim = claim_of(a, i);

		for (uint32_t k = 1; claim && k < claim->npods; k++) {
			if (claim->pod[k] >= gang->n || claim->pod[0] != i)
				break;
			gang->first[claim->pod[k]] = i;
			gang->next[claim->pod[k - 1]] = claim->pod[k];
		}
	}
}
