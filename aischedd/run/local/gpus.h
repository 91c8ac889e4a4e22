/*
 * gpus.h - find the GPUs of this machine
 */
#ifndef AISCHEDD_RUN_LOCAL_GPUS_H
#define AISCHEDD_RUN_LOCAL_GPUS_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/shepherd/order.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

/* A GPU as its driver knows it. */
struct gpu_id {
	const char *uuid; /* NULL: unknown */
	/* the N of /dev/nvidiaN; -1: unknown */
	int32_t minor;
	int64_t mem_mib; /* 0: unknown */
	/* number that CUDA gives it with CUDA_DEVICE_ORDER=PCI_BUS_ID */
	uint32_t index;
	/* the MIG instances that jobs can have, by the units at which they
	 * start */
	struct order_part part[MIG_UNITS];
};

struct gpus {
	uint32_t n;
	struct gpu_id id[LIMIT_GPUS];
	/* hwloc's logical index of each GPU's NUMA node */
	uint8_t numa[LIMIT_GPUS];
	/* root_of() of each GPU */
	uint16_t root[LIMIT_GPUS];
	/* number of each GPU's link group; see gpus_group() */
	uint8_t link[LIMIT_GPUS];
	/* the same instances as one number (libcommon/mig.h); 0: the GPU is
	 * whole */
	uint64_t parts[LIMIT_GPUS];
	/* major number of the files in /dev/nvidia-caps; 0: unknown */
	uint32_t caps_major;
	/* as in "h100"; NULL: unknown */
	const char *type;
	/* what is wrong with the GPUs, for the admin; or NULL */
	const char *note;
};

/*
 * Find the GPUs of this machine. Asks one source after the other until one
 * knows of GPUs: aisched-gpu, which asks the driver; hwloc, if built with NVML,
 * CUDA or ROCm; the driver's files. If HWLOC_XMLFILE is set, asks only hwloc.
 * Takes GPUS_ASK_MS if the driver hangs. Does not fail.
 */
void gpus_find(struct gpus *ret, hwloc_topology_t topo, struct arena *arena);

enum { GPUS_ASK_MS = 10000 };

/*
 * Divide n GPUs into link groups, in which any two GPUs are linked with at
 * least half of the best bandwidth of the node. If this relation is not
 * transitive, GPUs join groups in the order of their numbers. width[i * n + j]
 * is the bandwidth between GPUs i and j in any unit, equal in both directions;
 * ret_link[i] becomes the group of GPU i. Returns false, without groups, if no
 * two GPUs are linked.
 */
bool gpus_group(uint32_t n, const uint64_t *width, uint8_t *ret_link);

#endif
