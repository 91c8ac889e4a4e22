/* kubelet.c - the NUMA nodes in which a kubelet has put the pods of jobs */
#include "aischedd/state/pass/kubelet.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"

/* Count the devices in each NUMA node. */
static void count(const uint8_t *numa, uint32_t n, int64_t ret[LIMIT_SOCKETS])
{
	memset(ret, 0, LIMIT_SOCKETS * sizeof(*ret));
	for (uint32_t i = 0; i < n; i++)
		ret[numa[i] % LIMIT_SOCKETS]++;
}

void kubelet_keep(uint8_t *ret, const uint8_t *old, uint32_t n)
{
	int64_t before[LIMIT_SOCKETS], now[LIMIT_SOCKETS];

	count(old, n, before);
	count(ret, n, now);
	if (n && !memcmp(before, now, sizeof(now)))
		memcpy(ret, old, n);
}

/* Returns whether as many devices are free as the kubelet says, and no more of
 * them in a NUMA node than there are. */
static bool agrees(const uint8_t *numa, const bool *is_free, uint32_t n,
                   const int64_t *nfree)
{
	int64_t all[LIMIT_SOCKETS], sum = 0;

	count(numa, n, all);
	for (uint32_t z = 0; z < LIMIT_SOCKETS; z++) {
		if (nfree[z] > all[z])
			return false;
		sum += nfree[z];
	}
	for (uint32_t i = 0; i < n; i++)
		sum -= is_free[i];
	return sum == 0;
}

/* Give the devices that are free (is_free[i] == which) their NUMA nodes, `left`
 * in each. As many as possible keep the one that they have. */
static void deal(uint8_t *numa, const bool *is_free, uint32_t n, bool which,
                 int64_t *left)
{
	bool *kept = xcalloc(n + 1, sizeof(*kept));
	uint8_t z = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (is_free[i] != which || !left[numa[i]])
			continue;
		left[numa[i]]--;
		kept[i] = true;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (is_free[i] != which || kept[i])
			continue;
		while (!left[z])
			z++;
		left[z]--;
		numa[i] = z;
	}
	free(kept);
}

static void place(uint8_t *numa, const bool *is_free, uint32_t n,
                  const int64_t *nfree)
{
	int64_t used[LIMIT_SOCKETS], left[LIMIT_SOCKETS];

	count(numa, n, used);
	for (uint32_t z = 0; z < LIMIT_SOCKETS; z++) {
		left[z] = nfree[z];
		used[z] -= nfree[z];
	}
	deal(numa, is_free, n, true, left);
	deal(numa, is_free, n, false, used);
}

void kubelet_place(struct node *node, const uint16_t *gpu, const uint16_t *cpu)
{
	bool *gpus = xcalloc(node->ngpus + 1, sizeof(*gpus));
	bool *cpus = xcalloc(node->ncpus + 1, sizeof(*cpus));
	int64_t others = node->gpu_others / 1000;

	for (uint32_t i = node->ngpus; i--;) {
		gpus[i] = gpu[i] == 1000;
		/* snapshots take these from the last free ones */
		if (gpus[i] && others) {
			gpus[i] = false;
			others--;
		}
	}
	/* The kubelet does not place fractions of CPUs. */
	for (uint32_t i = 0; i < node->ncpus; i++)
		cpus[i] = cpu[i] > 0;
	if (agrees(node->gpu_numa, gpus, node->ngpus, node->zone_gpus) &&
	    (!node->ncpus ||
	     agrees(node->cpu_numa, cpus, node->ncpus, node->zone_cpus))) {
		place(node->gpu_numa, gpus, node->ngpus, node->zone_gpus);
		if (node->ncpus)
			place(node->cpu_numa, cpus, node->ncpus,
			      node->zone_cpus);
	}
	free(gpus);
	free(cpus);
}
