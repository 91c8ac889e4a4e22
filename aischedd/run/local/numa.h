/* numa.h - find the NUMA node and the PCIe root of a device or a CPU */
#ifndef AISCHEDD_RUN_LOCAL_NUMA_H
#define AISCHEDD_RUN_LOCAL_NUMA_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the number of the first NUMA node to which obj belongs: hwloc's
 * logical index or, if os is set, the kernel's number. Returns 0 if obj is NULL
 * or belongs to none. */
uint8_t numa_of(hwloc_topology_t topo, hwloc_obj_t obj, bool os);

/* The same by hwloc's index, of a device; dev may be NULL. */
uint8_t numa_of_device(hwloc_topology_t topo, hwloc_obj_t dev);

/* Returns a number, not 0, of the PCIe root under which a device is; 0 if dev
 * is NULL or not on the PCI bus. */
uint16_t root_of(hwloc_obj_t dev);

#endif
