/* numa.c - find the NUMA node and the PCIe root of a device or a CPU */
#include "aischedd/run/local/numa.h"

uint8_t numa_of(hwloc_topology_t topo, hwloc_obj_t obj, bool os)
{
	hwloc_obj_t node = NULL;

	while (
	    (node = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE, node)))
		if (obj && obj->nodeset &&
		    hwloc_bitmap_isset(obj->nodeset, node->os_index))
			return (uint8_t)(os ? node->os_index
			                    : node->logical_index);
	return 0;
}

uint8_t numa_of_device(hwloc_topology_t topo, hwloc_obj_t dev)
{
	return numa_of(
	    topo, dev ? hwloc_get_non_io_ancestor_obj(topo, dev) : NULL, false);
}

uint16_t root_of(hwloc_obj_t dev)
{
	for (; dev; dev = dev->parent)
		if (dev->type == HWLOC_OBJ_BRIDGE &&
		    dev->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST)
			return (uint16_t)(dev->logical_index + 1);
	return 0;
}
