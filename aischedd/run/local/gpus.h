/*
 * gpus.h - find the GPUs of this machine
 */
#ifndef AISCHEDD_RUN_LOCAL_GPUS_H
#define AISCHEDD_RUN_LOCAL_GPUS_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"

/* A GPU as its driver knows it. */
struct gpu_id {
	const char *uuid; /* NULL: not known */
	int32_t minor;    /* the N of /dev/nvidiaN; -1: not known */
	uint32_t index;   /* CUDA's number with CUDA_DEVICE_ORDER=PCI_BUS_ID */
};

struct gpus {
	uint32_t n;
	struct gpu_id id[LIMIT_GPUS];
	uint8_t numa[LIMIT_GPUS]; /* hwloc's logical index of the NUMA node */
	uint8_t link[LIMIT_GPUS]; /* number of its group; see gpus_group() */
	const char *type;         /* "h100"; NULL: not known */
	const char *note;         /* what is wrong, for the admin; or NULL */
};

/*
 * Find the GPUs. Tries, until one of them knows any: aisched-gpu, which asks
 * the driver; hwloc, if built with NVML, CUDA or ROCm; the driver's files. If
 * HWLOC_XMLFILE is set, only hwloc is tried. If the driver hangs, this takes
 * GPUS_ASK_MS. Does not fail.
 */
void gpus_find(struct gpus *ret, hwloc_topology_t topo, struct arena *arena);

enum { GPUS_ASK_MS = 10000 };

/*
 * Divide n GPUs into link groups: any two GPUs of a group are linked with at
 * least half the best bandwidth of the node. If that relation is not
 * transitive, GPUs join groups in order of their numbers. width[i * n + j]: the
 * bandwidth between GPUs i and j in any unit, equal in both directions.
 * ret_link[i]: the group of GPU i. Returns false, and no groups, if no two GPUs
 * are linked.
 */
bool gpus_group(uint32_t n, const uint64_t *width, uint8_t *ret_link);

#endif
