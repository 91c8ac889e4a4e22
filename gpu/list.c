/* list.c - the GPUs of this machine */
#include "gpu/list.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/caps.h"
#include "libcommon/mem.h"

struct found {
	const struct nvml *nvml;
	struct found_gpu gpu[LIMIT_GPUS];
	unsigned n;
};

typedef int text_fn(nvmlDevice_t device, char *text, unsigned size);

static json_t *text_of(text_fn *get, nvmlDevice_t device)
{
	char text[NVML_TEXT] = "";

	return get(device, text, sizeof(text) - 1) ? json_null()
	                                           : json_string(text);
}

static void add_number(json_t *to, const char *key, int status, uint64_t n)
{
	json_object_set_new(to, key,
	                    status ? json_null() : json_integer((json_int_t)n));
}

/* --- links ---------------------------------------------------------------- */

static bool same_bus(const nvmlPciInfo_t *a, const nvmlPciInfo_t *b)
{
	return a->domain == b->domain && a->bus == b->bus &&
	       a->device == b->device;
}

/* Count the active NVLinks from one GPU to each other GPU, and to switches. */
static void count_links(const struct found *all, unsigned from, unsigned *to,
                        unsigned *to_switch)
{
	const struct nvml *nvml = all->nvml;
	nvmlDevice_t device = all->gpu[from].device;

	for (unsigned link = 0; link < NVML_LINKS_MAX; link++) {
		nvmlPciInfo_t far = { 0 };
		unsigned active = 0;
		int kind = -1;

		if (nvml->nvmlDeviceGetNvLinkState(device, link, &active) ||
		    !active)
			continue;
		nvml->nvmlDeviceGetNvLinkRemoteDeviceType(device, link, &kind);
		if (kind == NVML_LINK_TO_SWITCH)
			++*to_switch;
		else if (!nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2(device,
		                                                    link, &far))
			for (unsigned i = 0; i < all->n; i++)
				to[i] += same_bus(&all->gpu[i].pci, &far);
	}
}

static void add_links(const struct found *all, json_t *list)
{
	unsigned to[LIMIT_GPUS][LIMIT_GPUS] = { 0 };
	unsigned to_switch[LIMIT_GPUS] = { 0 };

	for (unsigned i = 0; i < all->n; i++)
		count_links(all, i, to[i], &to_switch[i]);
	for (unsigned i = 0; i < all->n; i++) {
		json_t *links = json_array();

		for (unsigned j = 0; j < all->n; j++) {
			unsigned least = to_switch[i] < to_switch[j]
			                     ? to_switch[i]
			                     : to_switch[j];

			json_array_append_new(
			    links, json_integer(i == j ? 0 : to[i][j] + least));
		}
		json_object_set_new(json_array_get(list, i), "links", links);
	}
}

/* --- partitions ----------------------------------------------------------- */

/* Returns the minor numbers of the device files that a process opens to use the
 * instance; null if they are not known. */
static json_t *caps_of(const struct nvml *nvml, nvmlDevice_t gpu,
                       nvmlDevice_t device)
{
	unsigned minor, gi, ci;
	int caps[2];

	if (nvml->nvmlDeviceGetMinorNumber(gpu, &minor) ||
	    nvml->nvmlDeviceGetGpuInstanceId(device, &gi) ||
	    nvml->nvmlDeviceGetComputeInstanceId(device, &ci) ||
	    caps_minors(minor, gi, ci, caps) < 0)
		return json_null();
	return json_pack("[i i]", caps[0], caps[1]);
}

static json_t *instance(const struct nvml *nvml, nvmlDevice_t gpu,
                        nvmlDevice_t device)
{
	nvmlDeviceAttributes_t attr = { 0 };
	nvmlGpuInstanceInfo_t info = { 0 };
	nvmlGpuInstance_t handle;
	unsigned id;
	json_t *obj = json_object();
	int known = nvml->nvmlDeviceGetAttributes_v2(device, &attr);
	int placed = nvml->nvmlDeviceGetGpuInstanceId(device, &id);

	if (!placed)
		placed = nvml->nvmlDeviceGetGpuInstanceById(gpu, id, &handle);
	if (!placed)
		placed = nvml->nvmlGpuInstanceGetInfo(handle, &info);
	json_object_set_new(obj, "uuid",
	                    text_of(nvml->nvmlDeviceGetUUID, device));
	json_object_set_new(obj, "name",
	                    text_of(nvml->nvmlDeviceGetName, device));
	add_number(obj, "memory_mib", known, attr.memorySizeMB);
	add_number(obj, "slices", known, attr.gpuInstanceSliceCount);
	add_number(obj, "start", placed, info.placement.start);
	add_number(obj, "size", placed, info.placement.size);
	json_object_set_new(obj, "caps", caps_of(nvml, gpu, device));
	return obj;
}

static void add_instances(const struct nvml *nvml, nvmlDevice_t gpu, json_t *to)
{
	json_t *list = json_array();
	unsigned mode = 0, pending, n = 0;
	nvmlDevice_t device;

	/* The call fails for GPUs without MIG, and leaves mode at 0. */
	nvml->nvmlDeviceGetMigMode(gpu, &mode, &pending);
	if (mode)
		nvml->nvmlDeviceGetMaxMigDeviceCount(gpu, &n);
	for (unsigned i = 0; i < n && i < LIMIT_GPUS; i++)
		if (!nvml->nvmlDeviceGetMigDeviceHandleByIndex(gpu, i, &device))
			json_array_append_new(list,
			                      instance(nvml, gpu, device));
	json_object_set_new(to, "mig", json_boolean(mode));
	json_object_set_new(to, "instances", list);
}

/* --- the list ------------------------------------------------------------- */

static json_t *one(const struct nvml *nvml, const struct found_gpu *gpu)
{
	json_t *obj = json_object();
	nvmlMemory_t memory = { 0 };
	unsigned number = 0;
	char bus_id[sizeof(gpu->pci.busId)];
	size_t i;
	int status;

	for (i = 0; i < sizeof(bus_id) - 1 && gpu->pci.busId[i]; i++)
		bus_id[i] = (char)tolower((unsigned char)gpu->pci.busId[i]);
	bus_id[i] = '\0';
	json_object_set_new(obj, "uuid",
	                    text_of(nvml->nvmlDeviceGetUUID, gpu->device));
	json_object_set_new(obj, "name",
	                    text_of(nvml->nvmlDeviceGetName, gpu->device));
	json_object_set_new(obj, "bus_id", json_string(bus_id));
	status = nvml->nvmlDeviceGetMinorNumber(gpu->device, &number);
	add_number(obj, "minor", status, number);
	status = nvml->nvmlDeviceGetMemoryInfo(gpu->device, &memory);
	add_number(obj, "memory_mib", status, memory.total >> 20);
	add_instances(nvml, gpu->device, obj);
	return obj;
}

static int by_bus(const void *a, const void *b)
{
	const nvmlPciInfo_t *x = &((const struct found_gpu *)a)->pci;
	const nvmlPciInfo_t *y = &((const struct found_gpu *)b)->pci;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	if (x->bus != y->bus)
		return x->bus < y->bus ? -1 : 1;
	return (x->device > y->device) - (x->device < y->device);
}

unsigned find_gpus(const struct nvml *nvml, struct found_gpu ret[LIMIT_GPUS])
{
	unsigned n = 0, found = 0;

	nvml->nvmlDeviceGetCount_v2(&n);
	for (unsigned i = 0; i < n && found < LIMIT_GPUS; i++) {
		struct found_gpu *gpu = &ret[found];

		/* Skip a GPU that does not respond because it has failed. */
		if (!nvml->nvmlDeviceGetHandleByIndex_v2(i, &gpu->device) &&
		    !nvml->nvmlDeviceGetPciInfo_v3(gpu->device, &gpu->pci))
			found++;
	}
	qsort(ret, found, sizeof(*ret), by_bus);
	return found;
}

json_t *list_gpus(const struct nvml *nvml)
{
	struct found all = { .nvml = nvml };
	json_t *list = json_array(), *driver = json_null(), *ret;
	int major = caps_major();
	char version[NVML_TEXT] = "";

	all.n = find_gpus(nvml, all.gpu);
	for (unsigned i = 0; i < all.n; i++)
		json_array_append_new(list, one(nvml, &all.gpu[i]));
	add_links(&all, list);
	if (!nvml->nvmlSystemGetDriverVersion(version, sizeof(version) - 1))
		driver = json_string(version);
	ret = json_pack("{s:o s:o}", "driver", driver, "gpus", list);
	add_number(ret, "caps_major", major < 0, (uint64_t)major);
	return ret;
}
