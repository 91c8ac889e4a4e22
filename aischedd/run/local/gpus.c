/* gpus.c - find the GPUs of this machine */
#include "aischedd/run/local/gpus.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aischedd/run/local/gpu_ask.h"
#include "aischedd/run/local/numa.h"
#include "libcommon/buf.h"
#include "libcommon/mig.h"

#define PCI_CLASS_DISPLAY     0x03
#define PCI_CLASS_ACCELERATOR 0x12
#define PCI_VENDOR_NVIDIA     0x10de
#define PCI_VENDOR_AMD        0x1002

/* Add a GPU, which is this object of hwloc (NULL: unknown). Returns its entry,
 * or NULL if there are LIMIT_GPUS already. */
static struct gpu_id *add(struct gpus *gpus, hwloc_topology_t topo,
                          hwloc_obj_t dev)
{
	struct gpu_id *id = &gpus->id[gpus->n];

	if (gpus->n == LIMIT_GPUS)
		return NULL;
	*id = (struct gpu_id){ .minor = -1, .index = gpus->n };
	gpus->root[gpus->n] = root_of(dev);
	gpus->numa[gpus->n++] = numa_of_device(topo, dev);
	return id;
}

/* Returns the first word of the model that has a digit, in lower case: "h100"
 * for "NVIDIA H100 80GB HBM3". Returns NULL if there is none. */
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

/* --- link groups ---------------------------------------------------------- */

bool gpus_group(uint32_t n, const uint64_t *width, uint8_t *ret_link)
{
	uint64_t best = 0;
	uint8_t ngroups = 0;

	for (uint32_t i = 0; i < n * n; i++)
		if (width[i] > best)
			best = width[i];
	if (!best)
		return false;
	memset(ret_link, UINT8_MAX, n);
	for (uint32_t i = 0; i < n; i++) {
		if (ret_link[i] != UINT8_MAX)
			continue;
		ret_link[i] = ngroups;
		for (uint32_t j = i + 1; j < n; j++) {
			bool joined = ret_link[j] == UINT8_MAX;

			for (uint32_t k = i; joined && k < j; k++)
				joined = ret_link[k] != ngroups ||
				         width[j * n + k] >= (best + 1) / 2;
			if (joined)
				ret_link[j] = ngroups;
		}
		ngroups++;
	}
	return true;
}

/* --- asking the driver ---------------------------------------------------- */

static const char *text_of(const json_t *gpu, const char *key)
{
	const char *text = json_string_value(json_object_get(gpu, key));

	return text ? text : "";
}

static hwloc_obj_t find_bus(hwloc_topology_t topo, const char *id)
{
	unsigned domain, bus, device, function;

	if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return NULL;
	return hwloc_get_pcidev_by_busid(topo, domain, bus, device, function);
}

static int32_t minor_of(const json_t *number)
{
	json_int_t n = json_integer_value(number);

	return json_is_integer(number) && n >= 0 && n < INT32_MAX ? (int32_t)n
	                                                          : -1;
}

/* Returns the profile of a MIG instance, "1g.10gb" in "NVIDIA H100 MIG
 * 1g.10gb"; NULL if it has none. */
static const char *profile_of(const json_t *instance)
{
	const char *mig = strstr(text_of(instance, "name"), "MIG ");

	return mig ? mig + strlen("MIG ") : NULL;
}

/* Add a MIG instance to those that jobs can have. Returns false if its profile
 * is not known, or if it has not the place of such an instance. */
static bool take_instance(const json_t *instance, uint64_t *parts,
                          struct order_part *part, struct arena *arena)
{
	const json_t *caps = json_object_get(instance, "caps");
	const json_t *start = json_object_get(instance, "start");
	json_int_t unit = json_integer_value(start);
	uint8_t profile = mig_find(profile_of(instance));

	if (!profile || !*text_of(instance, "uuid") ||
	    !json_is_integer(start) || unit < 0 || unit >= MIG_UNITS ||
	    json_integer_value(json_object_get(instance, "size")) !=
	        mig_profile[profile].units ||
	    !mig_parts_add(parts, profile, (uint32_t)unit))
		return false;
	part[unit] =
	    (struct order_part){ arena_strdup(arena, text_of(instance, "uuid")),
		                 { minor_of(json_array_get(caps, 0)),
		                   minor_of(json_array_get(caps, 1)) } };
	return true;
}

/* Find the instances of a GPU that jobs can have. Returns false if the GPU is
 * in MIG mode and has none: then it cannot be given out, either. */
static bool take_instances(const json_t *gpu, size_t number, uint64_t *parts,
                           struct order_part *part, struct arena *arena,
                           struct buf *note)
{
	const json_t *list = json_object_get(gpu, "instances"), *instance;
	size_t i;

	*parts = 0;
	if (!json_is_true(json_object_get(gpu, "mig")))
		return true;
	json_array_foreach(list, i, instance) {
		const char *profile = profile_of(instance);

		if (!take_instance(instance, parts, part, arena))
			buf_printf(note,
			           "%sGPU %zu has an instance (%s) of unknown "
			           "profile or place, which is not given out",
			           note->len ? "; " : "", number,
			           profile ? profile : "no profile");
	}
	if (!*parts)
		buf_printf(note,
		           "%sGPU %zu is in MIG mode and has no instance for "
		           "jobs: it is not given out",
		           note->len ? "; " : "", number);
	return *parts != 0;
}

/* Read what the driver says of the GPU. */
static void read_gpu(struct gpu_id *id, const json_t *gpu, struct arena *arena)
{
	id->minor = minor_of(json_object_get(gpu, "minor"));
	id->mem_mib = json_integer_value(json_object_get(gpu, "memory_mib"));
	if (*text_of(gpu, "uuid"))
		id->uuid = arena_strdup(arena, text_of(gpu, "uuid"));
}

/* Add those GPUs of the driver's list that can be allocated. at[i] becomes the
 * index of GPU i in that list. */
static void take_gpus(struct gpus *gpus, const json_t *list, uint32_t *at,
                      hwloc_topology_t topo, struct arena *arena)
{
	struct buf note = { 0 };
	const json_t *gpu;
	size_t i;

	json_array_foreach(list, i, gpu) {
		const char *type = short_model(text_of(gpu, "name"), arena);
		struct order_part part[MIG_UNITS] = { 0 };
		uint64_t parts;
		struct gpu_id *id;

		if (!take_instances(gpu, i, &parts, part, arena, &note))
			continue;
		at[gpus->n] = (uint32_t)i;
		id = add(gpus, topo, find_bus(topo, text_of(gpu, "bus_id")));
		if (!id)
			break;
		id->index = (uint32_t)i;
		read_gpu(id, gpu, arena);
		gpus->parts[gpus->n - 1] = parts;
		memcpy(id->part, part, sizeof(part));
		if (!gpus->type)
			gpus->type = type;
		else if (type && strcmp(type, gpus->type))
			buf_printf(&note,
			           "%sGPU %zu is of type %s and counts "
			           "as %s",
			           note.len ? "; " : "", i, type, gpus->type);
	}
	if (note.len)
		gpus->note = arena_strdup(arena, note.data);
	buf_free(&note);
}

static bool group_as_told(struct gpus *gpus, const json_t *list,
                          const uint32_t *at)
{
	uint64_t width[LIMIT_GPUS * LIMIT_GPUS];

	for (uint32_t i = 0; i < gpus->n; i++)
		for (uint32_t j = 0; j < gpus->n; j++) {
			const json_t *links = json_object_get(
			    json_array_get(list, at[i]), "links");

			width[i * gpus->n + j] = (uint64_t)json_integer_value(
			    json_array_get(links, at[j]));
		}
	return gpus_group(gpus->n, width, gpus->link);
}

/* Get the GPUs from aisched-gpu, which asks the driver. Returns whether the
 * link groups are known. */
static bool ask_driver(struct gpus *gpus, hwloc_topology_t topo,
                       struct arena *arena)
{
	struct err err = { 0 };
	json_t *all = gpu_ask(GPUS_ASK_MS, &err);
	const json_t *list = json_object_get(all, "gpus");
	uint32_t at[LIMIT_GPUS + 1];
	bool grouped;

	if (!all && (err.code != ENOENT || !access("/dev/nvidia0", F_OK)))
		gpus->note = arena_strdup(arena, err.text);
	take_gpus(gpus, list, at, topo, arena);
	gpus->caps_major =
	    (uint32_t)json_integer_value(json_object_get(all, "caps_major"));
	grouped = gpus->n && group_as_told(gpus, list, at);
	json_decref(all);
	return grouped;
}

/* --- hwloc ---------------------------------------------------------------- */

/* Add the GPUs that hwloc knows from NVML, CUDA or ROCm, if hwloc was built
 * with one of these. */
static void find_os_devices(struct gpus *gpus, hwloc_topology_t topo,
                            hwloc_obj_t *ret_dev, struct arena *arena)
{
	static const char *const backends[] = { "NVML", "CUDA", "RSMI",
		                                "LevelZero" };

	for (size_t b = 0; b < ARRAY_SIZE(backends) && !gpus->n; b++) {
		hwloc_obj_t dev = NULL;

		while ((dev = hwloc_get_next_osdev(topo, dev))) {
			const char *by =
			    hwloc_obj_get_info_by_name(dev, "Backend");
			const char *model =
			    hwloc_obj_get_info_by_name(dev, "GPUModel");
			const char *uuid =
			    hwloc_obj_get_info_by_name(dev, "NVIDIAUUID");
			struct gpu_id *id;

			if (!by || strcmp(by, backends[b]))
				continue;
			id = add(gpus, topo, dev);
			if (!id)
				return;
			ret_dev[id->index] = dev;
			if (uuid)
				id->uuid = arena_strdup(arena, uuid);
			if (model && !gpus->type)
				gpus->type = short_model(model, arena);
		}
	}
}

/* Returns the index of obj among the n devices; n if it is none of them. */
static uint32_t find_device(hwloc_obj_t obj, const hwloc_obj_t *dev, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && dev[i] != obj)
		i++;
	return i;
}

/*
 * Replace bandwidths to switches by bandwidths between GPUs. hwloc's NVLink
 * matrix has the ports of switches: first merge the ports of each switch, then
 * connect the GPUs that a switch joins. Without switches the first step fails;
 * then skip the second step, as it would clear the matrix.
 */
static void join_switches(hwloc_topology_t topo, struct hwloc_distances_s *d)
{
	if (!hwloc_distances_transform(
		topo, d, HWLOC_DISTANCES_TRANSFORM_MERGE_SWITCH_PORTS, NULL, 0))
		hwloc_distances_transform(
		    topo, d, HWLOC_DISTANCES_TRANSFORM_TRANSITIVE_CLOSURE, NULL,
		    0);
}

static bool group_by_hwloc(struct gpus *gpus, hwloc_topology_t topo,
                           const hwloc_obj_t *dev)
{
	static const char *const names[] = { "NVLinkBandwidth", "XGMIBandwidth",
		                             "XeLinkBandwidth" };
	uint64_t width[LIMIT_GPUS * LIMIT_GPUS] = { 0 };
	uint32_t n = gpus->n;

	for (size_t b = 0; b < ARRAY_SIZE(names); b++) {
		struct hwloc_distances_s *d;
		unsigned one = 1;

		if (hwloc_distances_get_by_name(topo, names[b], &one, &d, 0) ||
		    one == 0)
			continue;
		join_switches(topo, d);
		for (unsigned i = 0; i < d->nbobjs; i++)
			for (unsigned j = 0; j < d->nbobjs; j++) {
				uint32_t a = find_device(d->objs[i], dev, n);
				uint32_t c = find_device(d->objs[j], dev, n);

				if (i != j && a < n && c < n)
					width[a * n + c] =
					    d->values[i * d->nbobjs + j];
			}
		hwloc_distances_release(topo, d);
	}
	return gpus_group(n, width, gpus->link);
}

/* --- device files of drivers ---------------------------------------------- */

static bool is_gpu(hwloc_obj_t pci, bool nvidia)
{
	unsigned kind = pci->attr->pcidev.class_id >> 8;

	if (nvidia)
		return pci->attr->pcidev.vendor_id == PCI_VENDOR_NVIDIA &&
		       kind == PCI_CLASS_DISPLAY;
	return pci->attr->pcidev.vendor_id == PCI_VENDOR_AMD &&
	       (kind == PCI_CLASS_DISPLAY || kind == PCI_CLASS_ACCELERATOR);
}

/* Add the GPUs on the PCI bus in the order of bus numbers. The drivers number
 * GPUs in this order, too. */
static void find_pci(struct gpus *gpus, hwloc_topology_t topo, bool nvidia)
{
	hwloc_obj_t pci = NULL;

	while ((pci = hwloc_get_next_pcidev(topo, pci))) {
		if (is_gpu(pci, nvidia))
			add(gpus, topo, pci);
	}
}

/* Returns how many names in the folder consist of the prefix and a number. */
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

/* Returns the model of the first GPU in the driver's folder in /proc, or NULL.
 * All GPUs of a machine count as alike. */
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

/* Add GPUs for which their drivers have device files, as jobs cannot use a GPU
 * without one. The files tell how many GPUs there are; the PCI bus tells where
 * they are. */
static void find_files(struct gpus *gpus, hwloc_topology_t topo,
                       struct arena *arena)
{
	uint32_t nvidia = count_names("/dev", "nvidia");
	uint32_t amd = count_names("/dev/dri", "renderD");

	if (nvidia) {
		find_pci(gpus, topo, true);
		while (gpus->n < nvidia && add(gpus, topo, NULL))
			;
		gpus->n = nvidia;
		gpus->type = nvidia_model(arena);
	} else if (amd && !access("/dev/kfd", F_OK)) {
		find_pci(gpus, topo, false);
		if (gpus->n > amd)
			gpus->n = amd;
	}
}

void gpus_find(struct gpus *ret, hwloc_topology_t topo, struct arena *arena)
{
	hwloc_obj_t dev[LIMIT_GPUS] = { 0 };
	bool grouped = false;

	*ret = (struct gpus){ 0 };
	if (!getenv("HWLOC_XMLFILE"))
		grouped = ask_driver(ret, topo, arena);
	if (!ret->n) {
		find_os_devices(ret, topo, dev, arena);
		grouped = ret->n && group_by_hwloc(ret, topo, dev);
	}
	if (!ret->n && !getenv("HWLOC_XMLFILE"))
		find_files(ret, topo, arena);
	/* If no links are known, GPUs of the same NUMA node count as linked. */
	if (!grouped)
		memcpy(ret->link, ret->numa, ret->n);
}
