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
	uint32_t index;   /* as CUDA numbers them in order of bus ids */
};

struct gpus {
	uint32_t n;
	struct gpu_id id[LIMIT_GPUS];
	uint8_t numa[LIMIT_GPUS]; /* logical, as hwloc counts */
	uint8_t link[LIMIT_GPUS]; /* link group */
	const char *type;         /* "h100"; NULL: not known */
	const char *note;         /* what is wrong, for the admin; or NULL */
};

/*
 * Asks in turn, until one answers: aisched-gpu, which asks the driver; hwloc,
 * if built with NVML, CUDA or ROCm; the driver's files. With HWLOC_XMLFILE set,
 * only hwloc. A driver that hangs costs GPUS_ASK_MS. Does not fail.
 */
void gpus_find(struct gpus *ret, hwloc_topology_t topo, struct arena *arena);

enum { GPUS_ASK_MS = 10000 };

/*
 * Divide n GPUs into groups; within a group any two are joined with at least
 * half the best bandwidth of the node. Where that relation is not transitive,
 * groups are disjoint cliques in order of their numbers. width[i * n + j]: any
 * unit, the same in both directions. Returns false, and no groups, if no two
 * are joined.
 */
bool gpus_group(uint32_t n, const uint64_t *width, uint8_t *ret_link);

#endif
