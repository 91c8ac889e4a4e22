/*
 * numa.h - which NUMA node is nearest
 */
#ifndef AISCHEDD_RUN_LOCAL_NUMA_H
#define AISCHEDD_RUN_LOCAL_NUMA_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the number of the first NUMA node of an object: hwloc's logical index
 * or, with os, the kernel's number. Returns 0 if obj has none or is NULL. */
uint8_t numa_of(hwloc_topology_t topo, hwloc_obj_t obj, bool os);

#endif
