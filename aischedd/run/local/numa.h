/* numa.h - find the NUMA node of a device or a CPU */
#ifndef AISCHEDD_RUN_LOCAL_NUMA_H
#define AISCHEDD_RUN_LOCAL_NUMA_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the number of the first NUMA node to which obj belongs: hwloc's
 * logical index or, if os is set, the kernel's number. Returns 0 if obj is NULL
 * or belongs to none. */
uint8_t numa_of(hwloc_topology_t topo, hwloc_obj_t obj, bool os);

#endif
