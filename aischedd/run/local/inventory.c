/* inventory.c - find the CPUs, memory and GPUs of this machine */
#include "aischedd/run/local/inventory.h"

#include <hwloc.h>
#include <sched.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "aischedd/run/local/numa.h"
#include "aischedd/run/shepherd/cgroup.h"
#include "aischedd/run/shepherd/cgroup_find.h"
#include "libcommon/limits.h"

/* largest size to report, as some network file systems claim absurd sizes */
#define MOST_DISK_MIB (UINT64_C(1) << 40)

/* --- CPUs, memory and disk --- */

/* Returns the CPUs on which this process may run, or NULL on failure. Tries
 * larger sets until the kernel accepts one; free it with CPU_FREE(). */
static cpu_set_t *own_affinity(size_t *ret_size)
{
	for (size_t n = 1024; n <= 65536; n *= 2) {
		cpu_set_t *set = CPU_ALLOC(n);

		*ret_size = CPU_ALLOC_SIZE(n);
		if (!sched_getaffinity(0, *ret_size, set))
			return set;
		CPU_FREE(set);
	}
	return NULL;
}

static void find_cpus(struct machine *m, hwloc_topology_t topo,
                      struct arena *arena)
{
	int n = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PU);
	size_t max = n > 0 ? (size_t)n : 0, size;
	uint16_t *core = arena_array(arena, uint16_t, max);
	uint16_t *os_cpu = arena_array(arena, uint16_t, max);
	uint8_t *numa = arena_array(arena, uint8_t, max);
	uint8_t *os_numa = arena_array(arena, uint8_t, max);
	cpu_set_t *mine = own_affinity(&size);
	uint32_t found = 0;

	for (unsigned i = 0; i < max && found < LIMIT_CPUS; i++) {
		hwloc_obj_t pu = hwloc_get_obj_by_type(topo, HWLOC_OBJ_PU, i);
		hwloc_obj_t parent;

		if (!pu || (mine && !CPU_ISSET_S(pu->os_index, size, mine)))
			continue;
		parent =
		    hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_CORE, pu);
		core[found] =
		    (uint16_t)(parent ? parent->logical_index : found);
		os_cpu[found] = (uint16_t)pu->os_index;
		numa[found] = numa_of(topo, pu, false);
		os_numa[found] = numa_of(topo, pu, true);
		found++;
	}
	if (mine)
		CPU_FREE(mine);
	m->node.ncpus = mine ? found : 0;
	m->node.cpu_milli = found * INT64_C(1000);
	m->node.cpu_core = core;
	m->node.cpu_numa = numa;
	m->os_cpu = os_cpu;
	m->os_numa = os_numa;
	m->many_numa = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE) > 1;
}

static int64_t memory_mib(void)
{
	int64_t limit = cgroup_own_memory_mib(), all;
	struct sysinfo info;

	sysinfo(&info);
	all = (int64_t)(info.totalram * info.mem_unit >> 20);
	return limit >= 0 && limit < all ? limit : all;
}

int64_t machine_disk_mib(const char *dir)
{
	struct statvfs fs;
	uint64_t kept, n, mib;

	if (statvfs(dir, &fs) < 0)
		return 0;
	kept = fs.f_bfree > fs.f_bavail ? fs.f_bfree - fs.f_bavail : 0;
	n = fs.f_blocks > kept ? fs.f_blocks - kept : 0;
	mib = (uint64_t)((unsigned __int128)n * fs.f_frsize >> 20);
	return (int64_t)(mib < MOST_DISK_MIB ? mib : MOST_DISK_MIB);
}

/* Set the memory of each NUMA node. If all nodes together have more than we may
 * use, each gets a part in proportion to its size. */
static void find_numa_memory(struct machine *m, hwloc_topology_t topo,
                             struct arena *arena)
{
	int n = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE);
	int64_t *mib = arena_array(arena, int64_t, n > 0 ? (size_t)n : 0);
	hwloc_obj_t node = NULL;
	int64_t all = 0;

	for (int i = 0; i < n && (node = hwloc_get_next_obj_by_type(
				      topo, HWLOC_OBJ_NUMANODE, node));
	     i++) {
		mib[i] = (int64_t)(node->attr->numanode.local_memory >> 20);
		all += mib[i];
	}
	for (int i = 0; i < n && all > m->node.mem_mib; i++)
		mib[i] = (int64_t)((double)mib[i] / (double)all *
		                   (double)m->node.mem_mib);
	m->node.nnumas = n > 0 && all > 0 ? (uint32_t)n : 0;
	m->node.numa_mem = mib;
}

/* --- GPUs, and the whole machine --- */

/* Returns the memory of the smallest GPU; 0 if that of a GPU is unknown. */
static int64_t least_memory(const struct gpus *gpus, uint32_t n)
{
	int64_t least = n ? gpus->id[0].mem_mib : 0;

	for (uint32_t i = 1; i < n; i++)
		if (gpus->id[i].mem_mib < least)
			least = gpus->id[i].mem_mib;
	return least;
}

/* Set number, type and memory of the GPUs. If the configuration gives more GPUs
 * than were found, the others count as GPUs of NUMA node 0. */
static void note_gpus(struct machine *m, const struct conf_node *conf,
                      struct arena *arena)
{
	uint32_t n = m->gpus.n;
	uint64_t any = 0;

	if (conf && conf->gpus != CONF_NONE)
		n = (uint32_t)conf->gpus;
	if (n > LIMIT_GPUS)
		n = LIMIT_GPUS;
	for (uint32_t i = m->gpus.n; i < n; i++)
		m->gpus.id[i] = (struct gpu_id){ .minor = -1, .index = i };
	m->node.ngpus = n;
	m->node.gpu_mem_mib = least_memory(&m->gpus, n);
	m->node.gpu_numa = m->gpus.numa;
	m->node.gpu_link = m->gpus.link;
	m->node.gpu_root = m->gpus.root;
	for (uint32_t i = 0; i < n; i++)
		any |= m->gpus.parts[i];
	m->node.gpu_parts = any ? m->gpus.parts : NULL;
	m->node.gpu_type =
	    conf && conf->gpu_type ? conf->gpu_type : m->gpus.type;
	if (m->node.gpu_type)
		m->node.gpu_type = arena_strdup(arena, m->node.gpu_type);
}

/* Let hwloc keep all PCI devices if jobs get particular devices:
 * it leaves out those of uncommon classes. */
static void filter_devices(hwloc_topology_t topo,
                           const struct conf_device *kind, size_t n)
{
	hwloc_topology_set_io_types_filter(topo,
	                                   HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	for (size_t i = 0; i < n; i++)
		if (kind[i].pci.n || kind[i].path.n)
			hwloc_topology_set_type_filter(
			    topo, HWLOC_OBJ_PCI_DEVICE,
			    HWLOC_TYPE_FILTER_KEEP_ALL);
}

int machine_discover(struct machine *ret, const struct conf_node *conf,
                     const struct conf_device *kind, size_t n,
                     struct arena *arena, struct err *err)
{
	hwloc_topology_t topo;
	char host[256] = "";

	if (hwloc_topology_init(&topo) < 0)
		return err_sys(err, "cannot ask hwloc");
	filter_devices(topo, kind, n);
	if (hwloc_topology_load(topo) < 0) {
		hwloc_topology_destroy(topo);
		return err_sys(err, "hwloc cannot read this machine");
	}
	*ret = (struct machine){ 0 };
	gethostname(host, sizeof(host) - 1);
	ret->node.name = arena_strdup(arena, conf ? conf->name : host);
	ret->node.mem_mib = memory_mib();
	find_numa_memory(ret, topo, arena);
	find_cpus(ret, topo, arena);
	gpus_find(&ret->gpus, topo, arena);
	note_gpus(ret, conf, arena);
	devices_find(&ret->devices, kind, n, topo, arena);
	devices_tell(&ret->devices, &ret->node);
	hwloc_topology_destroy(topo);
	return 0;
}
