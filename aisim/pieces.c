/* pieces.c - devices other than GPUs of jobs that are running at second 0 */
#include "aisim/pieces.h"

#include "aischedd/state/cluster/device.h"
#include "aischedd/state/cluster/node.h"

/* Where a device is: elsewhere, in the NUMA node of a GPU of the task, or under
 * the PCIe root of one. For a task without GPUs, all are IN_NUMA. */
enum where { FAR, IN_NUMA, UNDER_ROOT };

uint64_t pieces_gpus(const struct node *node, const struct device_need *need,
                     uint64_t taken)
{
	const struct node_devices *d = node->named;
	uint64_t ret = 0;

	for (uint32_t g = 0; d && g < node->ngpus; g++) {
		unsigned found = 0;

		for (uint32_t i = 0; i < d->nhere; i++)
			if (!(taken >> i & 1) && node->gpu_root[g] &&
			    d->root[i] == node->gpu_root[g])
				found |= 1u << d->kind[i];
		if (!(need->pcie & ~found))
			ret |= (uint64_t)1 << g;
	}
	return ret;
}

static enum where where_is(const struct node *node, uint64_t gpus, uint32_t i)
{
	const struct node_devices *d = node->named;
	enum where ret = gpus ? FAR : IN_NUMA;

	for (uint64_t left = gpus; left; left &= left - 1) {
		uint32_t g = (uint32_t)__builtin_ctzll(left);

		if (d->root[i] && d->root[i] == node->gpu_root[g])
			return UNDER_ROOT;
		if (node_gpu_numa(node, g) == d->numa[i])
			ret = IN_NUMA;
	}
	return ret;
}

/* Take a device of the kind under the root of each GPU, *n at most. Lowers *n
 * by the number taken. */
static uint64_t take_own(const struct node *node, uint32_t kind, uint64_t gpus,
                         uint64_t taken, int *n)
{
	const struct node_devices *d = node->named;
	uint64_t ret = 0;

	for (; gpus && *n; gpus &= gpus - 1) {
		uint16_t root = node->gpu_root[__builtin_ctzll(gpus)];

		for (uint32_t i = 0; i < d->nhere && root; i++) {
			if ((taken | ret) >> i & 1 || d->root[i] != root ||
			    d->kind[i] != kind)
				continue;
			ret |= (uint64_t)1 << i;
			--*n;
			break;
		}
	}
	return ret;
}

/* Take *n more devices of the kind, the nearest first, and none that is farther
 * than `least`. Lowers *n by the number taken. */
static uint64_t take_near(const struct node *node, uint32_t kind, uint64_t gpus,
                          uint64_t taken, enum where least, int *n)
{
	const struct node_devices *d = node->named;
	uint64_t ret = 0;

	for (enum where at = UNDER_ROOT;; at--) {
		for (uint32_t i = 0; i < d->nhere && *n; i++) {
			if ((taken | ret) >> i & 1 || d->kind[i] != kind ||
			    where_is(node, gpus, i) != at)
				continue;
			ret |= (uint64_t)1 << i;
			--*n;
		}
		if (at == least)
			return ret;
	}
}

uint64_t pieces_beside(const struct node *node, const struct device_need *need,
                       uint64_t gpu, uint64_t taken)
{
	uint64_t ret = 0;

	for (uint32_t k = 0; node->named && k < DEVICE_KINDS; k++) {
		int one = need->pcie >> k & 1;

		ret |= take_own(node, k, gpu, taken | ret, &one);
	}
	return ret;
}

static bool take_kind(const struct node *node, const struct device_need *need,
                      uint32_t kind, uint64_t gpus, uint64_t taken,
                      uint64_t *ret)
{
	int n = need->counts.n[kind], ngpus = __builtin_popcountll(gpus);
	int own = n < ngpus ? n : ngpus, rest = own;
	enum where least = need->pcie >> kind & 1   ? UNDER_ROOT
	                   : need->numa >> kind & 1 ? IN_NUMA
	                                            : FAR;

	*ret |= take_own(node, kind, gpus, taken | *ret, &rest);
	if (least == UNDER_ROOT && rest)
		return false;
	n -= own - rest;
	*ret |= take_near(node, kind, gpus, taken | *ret, least, &n);
	return !n;
}

bool pieces_take(const struct node *node, const struct device_need *need,
                 uint64_t gpus, uint64_t taken, uint64_t *ret)
{
	unsigned demands = need->pcie | need->numa;

	*ret = 0;
	for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
		if (!need->counts.n[k])
			continue;
		if (!(node->kinds_named >> k & 1)) {
			if (demands >> k & 1)
				return false;
			continue;
		}
		if (!take_kind(node, need, k, gpus, taken, ret))
			return false;
	}
	return true;
}
