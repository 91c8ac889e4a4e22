/* inventory.c - find what this machine has */
#include "aischedd/run/local/inventory.h"

#include <ctype.h>
#include <dirent.h>
#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "aischedd/run/shepherd/cgroup.h"
#include "aischedd/run/shepherd/cgroup_find.h"
#include "libcommon/limits.h"

#define PCI_CLASS_DISPLAY     0x03
#define PCI_CLASS_ACCELERATOR 0x12
#define PCI_VENDOR_NVIDIA     0x10de
#define PCI_VENDOR_AMD        0x1002

struct gpus {
	uint32_t n;
	uint8_t numa[LIMIT_GPUS];
	const char *type;
};

/* --- CPUs and memory --- */

/* Returns the affinity of this process, for any number of CPUs; free it with
 * CPU_FREE(). */
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

static uint8_t numa_of(hwloc_topology_t topo, hwloc_obj_t obj, bool os)
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

/* --- GPUs --- */

static bool is_gpu(hwloc_obj_t pci, bool nvidia)
{
	unsigned kind = pci->attr->pcidev.class_id >> 8;

	if (nvidia)
		return pci->attr->pcidev.vendor_id == PCI_VENDOR_NVIDIA &&
		       kind == PCI_CLASS_DISPLAY;
	return pci->attr->pcidev.vendor_id == PCI_VENDOR_AMD &&
	       (kind == PCI_CLASS_DISPLAY || kind == PCI_CLASS_ACCELERATOR);
}

/* In order of bus numbers, as the drivers number them. */
static void find_pci(struct gpus *gpus, hwloc_topology_t topo, bool nvidia)
{
	hwloc_obj_t pci = NULL;

	while ((pci = hwloc_get_next_pcidev(topo, pci))) {
		hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topo, pci);

		if (is_gpu(pci, nvidia) && gpus->n < LIMIT_GPUS)
			gpus->numa[gpus->n++] = numa_of(topo, near, false);
	}
}

/* Count the names in a folder that are the prefix and a number. */
static uint32_t count_names(const char *folder, const char *prefix)
{
	DIR *dir = opendir(folder);
	size_t len = strlen(prefix);
	uint32_t n = 0;

	if (!dir)
		return 0;
	for (struct dirent *e; (e = readdir(dir));) {
		const char *p = e->d_name + len;

		if (strncmp(e->d_name, prefix, len) || !isdigit(*p))
			continue;
		n += p[strspn(p, "0123456789")] == '\0';
	}
	closedir(dir);
	return n < LIMIT_GPUS ? n : LIMIT_GPUS;
}

/* "NVIDIA H100 80GB HBM3" -> "h100": the first word with a digit. */
static const char *short_model(const char *model, struct arena *arena)
{
	char word[64];
	size_t len;

	for (const char *p = model; *p; p += len + strspn(p + len, " -\n")) {
		len = strcspn(p, " -\n");
		if (len >= sizeof(word) || !strpbrk(p, "0123456789"))
			continue;
		for (size_t i = 0; i < len; i++)
			word[i] = (char)tolower((unsigned char)p[i]);
		word[len] = '\0';
		if (strpbrk(word, "0123456789"))
			return arena_strdup(arena, word);
	}
	return NULL;
}

/* The driver's name of the first device; all of one machine are alike. */
static const char *nvidia_model(struct arena *arena)
{
	DIR *dir = opendir("/proc/driver/nvidia/gpus");
	const char *type = NULL;

	if (!dir)
		return NULL;
	for (struct dirent *e; !type && (e = readdir(dir));) {
		char path[320], line[256], model[128];
		FILE *f;

		snprintf(path, sizeof(path),
		         "/proc/driver/nvidia/gpus/%s/information", e->d_name);
		f = fopen(path, "re");
		while (f && !type && fgets(line, sizeof(line), f))
			if (sscanf(line, "Model: %127[^\n]", model) == 1)
				type = short_model(model, arena);
		if (f)
			fclose(f);
	}
	closedir(dir);
	return type;
}

/* Find what hwloc knows from NVML, CUDA or ROCm, if it was built with them. */
static void find_os_devices(struct gpus *gpus, hwloc_topology_t topo,
                            struct arena *arena)
{
	static const char *const backends[] = { "NVML", "CUDA", "RSMI" };

	for (size_t b = 0; b < ARRAY_SIZE(backends) && !gpus->n; b++) {
		hwloc_obj_t dev = NULL;

		while ((dev = hwloc_get_next_osdev(topo, dev))) {
			const char *by =
			    hwloc_obj_get_info_by_name(dev, "Backend");
			const char *model =
			    hwloc_obj_get_info_by_name(dev, "GPUModel");
			hwloc_obj_t near =
			    hwloc_get_non_io_ancestor_obj(topo, dev);

			if (!by || strcmp(by, backends[b]) ||
			    gpus->n == LIMIT_GPUS)
				continue;
			gpus->numa[gpus->n++] = numa_of(topo, near, false);
			if (model && !gpus->type)
				gpus->type = short_model(model, arena);
		}
	}
}

static void find_gpus(struct gpus *gpus, hwloc_topology_t topo,
                      struct arena *arena)
{
	uint32_t nvidia = count_names("/dev", "nvidia");
	uint32_t amd = count_names("/dev/dri", "renderD");

	find_os_devices(gpus, topo, arena);
	if (gpus->n)
		return;
	/* Jobs cannot use a device without its driver. */
	if (nvidia) {
		find_pci(gpus, topo, true);
		gpus->n = nvidia;
		gpus->type = nvidia_model(arena);
	} else if (amd && !access("/dev/kfd", F_OK)) {
		find_pci(gpus, topo, false);
		if (gpus->n > amd)
			gpus->n = amd;
	}
}

static void note_gpus(struct machine *m, const struct gpus *found,
                      const struct conf_node *conf, struct arena *arena)
{
	uint32_t n = found->n;
	uint8_t *numa;

	if (conf && conf->gpus != CONF_NONE)
		n = (uint32_t)conf->gpus;
	if (n > LIMIT_GPUS)
		n = LIMIT_GPUS;
	numa = arena_array(arena, uint8_t, n);
	memcpy(numa, found->numa, n);
	m->node.ngpus = n;
	m->node.gpu_numa = numa;
	m->node.gpu_link = numa; /* devices of one socket count as linked */
	m->node.gpu_type =
	    conf && conf->gpu_type ? conf->gpu_type : found->type;
	if (m->node.gpu_type)
		m->node.gpu_type = arena_strdup(arena, m->node.gpu_type);
}

int machine_discover(struct machine *ret, const struct conf_node *conf,
                     struct arena *arena, struct err *err)
{
	struct gpus gpus = { 0 };
	hwloc_topology_t topo;
	char host[256] = "";

	if (hwloc_topology_init(&topo) < 0)
		return err_sys(err, "cannot ask hwloc");
	hwloc_topology_set_io_types_filter(topo,
	                                   HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	if (hwloc_topology_load(topo) < 0) {
		hwloc_topology_destroy(topo);
		return err_sys(err, "hwloc cannot read this machine");
	}
	*ret = (struct machine){ 0 };
	gethostname(host, sizeof(host) - 1);
	ret->node.name = arena_strdup(arena, conf ? conf->name : host);
	ret->node.mem_mib = memory_mib();
	find_cpus(ret, topo, arena);
	find_gpus(&gpus, topo, arena);
	note_gpus(ret, &gpus, conf, arena);
	hwloc_topology_destroy(topo);
	return 0;
}
