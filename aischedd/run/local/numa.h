/*
 * numa.h - which NUMA node is nearest
 */
#ifndef AISCHEDD_RUN_LOCAL_NUMA_H
#define AISCHEDD_RUN_LOCAL_NUMA_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the first NUMA node of an object, as hwloc counts or, with os, as the
 * kernel does; 0 if it has none or is NULL. */
uint8_t numa_of(hwloc_topology_t topo, hwloc_obj_t obj, bool os);

#endif
