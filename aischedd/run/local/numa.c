/* numa.c - find the NUMA node of a device or a CPU */
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
