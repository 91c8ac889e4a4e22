/*
 * nvml.c - replaces NVIDIA's management library in tests
 *
 * It answers from the lines of the file that $NVML_FILE names:
 *
 *	gpu UUID MINOR BUS_ID MEMORY_MIB MIG NAME
 *	link GPU switch|BUS_ID
 *	instance GPU UUID ID START SIZE MEMORY_MIB NAME
 *	busy GPU PERCENT USED_MIB
 *	process GPU PID PERCENT USED_MIB
 *	old
 *	hang
 *	hang at the end
 *	fail CODE
 *
 * $NVML_BUSY may name a file with more lines "busy" and "process". It is read
 * again each time somebody asks how busy a GPU is, and it may have a line
 * "hang now". A GPU without a line "busy" answers that this is not supported.
 *
 * "old" is a driver that does not tell what it reserves; any other reserves 480
 * MiB of each GPU, which is what an H100 answers.
 *
 * "hang" and "fail" are about nvmlInit_v2(); "hang at the end" makes
 * nvmlShutdown() hang, when everything is printed. This tests what the daemon
 * makes of the answers, not that the real library gives them.
 */
#include "gpu/nvml.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DECLARE(name, args) int name args;
NVML_FUNCTIONS(DECLARE)

enum { MAX = 64, NO = 3, UNKNOWN = 6, RESERVED_MIB = 480 };

struct nvmlDevice_st {
	int gpu; /* the GPU of an instance; -1: this is a GPU */
	unsigned minor, mig, id, start, size, percent, used_mib;
	bool tells;
	unsigned long long mib;
	char uuid[NVML_TEXT], name[NVML_TEXT];
	nvmlPciInfo_t pci;
};

static struct nvmlDevice_st gpu[MAX], inst[MAX];
static struct {
	unsigned gpu;
	char to[32];
} links[MAX * NVML_LINKS_MAX];
static struct {
	unsigned gpu, pid, percent, mib;
} process[MAX];
static unsigned ngpus, ninsts, nlinks, nprocesses;
static bool hangs_at_end, is_old;

/* --- the file ------------------------------------------------------------- */

static void read_bus(nvmlPciInfo_t *pci, const char *id)
{
	snprintf(pci->busId, sizeof(pci->busId), "%s", id);
	sscanf(id, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
}

static int read_line(const char *line)
{
	struct nvmlDevice_st *g = &gpu[ngpus], *i = &inst[ninsts];
	unsigned which, percent, mib, pid;
	char bus[32];
	int code;

	if (sscanf(line, "busy %u %u %u", &which, &percent, &mib) == 3) {
		gpu[which].tells = true;
		gpu[which].percent = percent;
		gpu[which].used_mib = mib;
	} else if (sscanf(line, "process %u %u %u %u", &which, &pid, &percent,
	                  &mib) == 4) {
		process[nprocesses].gpu = which;
		process[nprocesses].pid = pid;
		process[nprocesses].percent = percent;
		process[nprocesses++].mib = mib;
	} else if (sscanf(line, "gpu %95s %u %31s %llu %u %95[^\n]", g->uuid,
	                  &g->minor, bus, &g->mib, &g->mig, g->name) == 6) {
		g->gpu = -1;
		read_bus(&g->pci, bus);
		ngpus++;
	} else if (sscanf(line, "instance %d %95s %u %u %u %llu %95[^\n]",
	                  &i->gpu, i->uuid, &i->id, &i->start, &i->size,
	                  &i->mib, i->name) == 7) {
		ninsts++;
	} else if (sscanf(line, "link %u %31s", &links[nlinks].gpu,
	                  links[nlinks].to) == 2) {
		nlinks++;
	} else if (sscanf(line, "fail %d", &code) == 1) {
		return code;
	} else if (!strncmp(line, "old", 3)) {
		is_old = true;
	} else if (!strncmp(line, "hang at the end", 15)) {
		hangs_at_end = true;
	} else if (!strncmp(line, "hang", 4)) {
		for (;;)
			pause();
	}
	return 0;
}

/* Read the file that an environment variable names. */
static int read_file(const char *variable)
{
	const char *path = getenv(variable);
	FILE *f = path ? fopen(path, "re") : NULL;
	char line[512];
	int status = f ? 0 : 9;

	while (f && !status && fgets(line, sizeof(line), f))
		status = read_line(line);
	if (f)
		fclose(f);
	return status;
}

int nvmlInit_v2(void)
{
	return read_file("NVML_FILE");
}

int nvmlShutdown(void)
{
	if (hangs_at_end) {
		fclose(stdout);
		fclose(stderr);
	}
	while (hangs_at_end)
		pause();
	return 0;
}

/* --- answers -------------------------------------------------------------- */

static int tell(char *text, unsigned size, const char *value)
{
	snprintf(text, size, "%s", value);
	return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	return tell(text, size, "550.54.15");
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
	*ret = ngpus;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *ret)
{
	*ret = &gpu[index];
	return index < ngpus ? 0 : UNKNOWN;
}

int nvmlDeviceGetName(nvmlDevice_t device, char *text, unsigned size)
{
	return tell(text, size, device->name);
}

int nvmlDeviceGetUUID(nvmlDevice_t device, char *text, unsigned size)
{
	return tell(text, size, device->uuid);
}

int nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *ret)
{
	*ret = device->minor;
	return 0;
}

int nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *ret)
{
	*ret = device->pci;
	return 0;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *ret)
{
	uint64_t used = device->used_mib + (uint64_t)RESERVED_MIB;

	*ret = (nvmlMemory_t){ .total = device->mib << 20, .used = used << 20 };
	return 0;
}

int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *ret)
{
	if (is_old || ret->version != NVML_MEMORY_V2)
		return NO;
	ret->total = device->mib << 20;
	ret->reserved = (uint64_t)RESERVED_MIB << 20;
	ret->used = (uint64_t)device->used_mib << 20;
	return 0;
}

/* Read how busy the GPUs are now. */
static void read_busy(void)
{
	for (unsigned i = 0; i < ngpus; i++)
		gpu[i].tells = gpu[i].tells && !getenv("NVML_BUSY");
	nprocesses = 0;
	read_file("NVML_BUSY");
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *n,
                                            nvmlProcessInfo_t *ret)
{
	*n = 0;
	read_busy();
	for (unsigned i = 0; i < nprocesses; i++)
		if (device == &gpu[process[i].gpu])
			ret[(*n)++] = (nvmlProcessInfo_t){
				.pid = process[i].pid,
				.usedGpuMemory =
				    (unsigned long long)process[i].mib << 20
			};
	return 0;
}

int nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                    nvmlProcessUtilizationSample_t *ret,
                                    unsigned *n, unsigned long long since_us)
{
	*n = 0;
	read_busy();
	for (unsigned i = 0; i < nprocesses; i++)
		if (device == &gpu[process[i].gpu])
			ret[(*n)++] = (nvmlProcessUtilizationSample_t){
				.pid = process[i].pid,
				.timeStamp = since_us + 1,
				.smUtil = process[i].percent,
			};
	return *n ? 0 : UNKNOWN;
}

int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *ret)
{
	read_busy();
	*ret = (nvmlUtilization_t){ .gpu = device->percent };
	return device->tells ? 0 : NO;
}

/* Returns link `number` of a GPU, or NULL. */
static const char *find_link(nvmlDevice_t device, unsigned number)
{
	for (unsigned i = 0; i < nlinks; i++)
		if (&gpu[links[i].gpu] == device && !number--)
			return links[i].to;
	return NULL;
}

int nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, unsigned *ret)
{
	*ret = find_link(device, link) != NULL;
	return *ret ? 0 : NO;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned link,
                                        int *ret)
{
	*ret = !strcmp(find_link(device, link), "switch") ? NVML_LINK_TO_SWITCH
	                                                  : NVML_LINK_TO_GPU;
	return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link,
                                        nvmlPciInfo_t *ret)
{
	read_bus(ret, find_link(device, link));
	return 0;
}

int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current,
                         unsigned *pending)
{
	*current = *pending = device->mig;
	return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *ret)
{
	*ret = device->mig ? 7 : 0;
	return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                        nvmlDevice_t *ret)
{
	for (unsigned i = 0; i < ninsts; i++)
		if (&gpu[inst[i].gpu] == device && !index--) {
			*ret = &inst[i];
			return 0;
		}
	return UNKNOWN;
}

int nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned *ret)
{
	*ret = device->id;
	return 0;
}

/* Each GPU instance has one compute instance, number 0. */
int nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned *ret)
{
	*ret = 0;
	return device->gpu < 0 ? NO : 0;
}

int nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned id,
                                 nvmlGpuInstance_t *ret)
{
	for (unsigned i = 0; i < ninsts; i++)
		if (&gpu[inst[i].gpu] == device && inst[i].id == id) {
			*ret = (nvmlGpuInstance_t)(void *)&inst[i];
			return 0;
		}
	return UNKNOWN;
}

int nvmlGpuInstanceGetInfo(nvmlGpuInstance_t handle, nvmlGpuInstanceInfo_t *ret)
{
	const struct nvmlDevice_st *i = (const void *)handle;

	*ret = (nvmlGpuInstanceInfo_t){
		.id = i->id, .placement = { .start = i->start, .size = i->size }
	};
	return 0;
}

int nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *ret)
{
	*ret = (nvmlDeviceAttributes_t){ .gpuInstanceSliceCount = device->size,
		                         .memorySizeMB = device->mib };
	return 0;
}
