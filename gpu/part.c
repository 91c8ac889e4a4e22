/* part.c - what a job uses of a GPU that it shares with others */
#include "gpu/part.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"

enum {
	/* If a GPU has more processes, nothing is measured. */
	PROCESSES_MAX = 1024,
	NVML_NOT_FOUND = 6, /* no process used the GPU since then */
};

void part_read_procs(const char *dir, struct part_procs *ret)
{
	struct buf path = { 0 };
	size_t room = 0;
	FILE *f;
	long pid;

	*ret = (struct part_procs){ 0 };
	buf_printf(&path, "%s/cgroup.procs", dir);
	f = fopen(path.data, "re");
	buf_free(&path);
	if (!f)
		return;
	while (fscanf(f, "%ld", &pid) == 1) {
		ret->pid = GROW(ret->pid, ret->n, &room);
		ret->pid[ret->n++] = (pid_t)pid;
	}
	fclose(f);
}

static bool has(const struct part_procs *procs, unsigned pid)
{
	for (size_t i = 0; i < procs->n; i++)
		if ((unsigned)procs->pid[i] == pid)
			return true;
	return false;
}

static bool is_mps_server(unsigned pid)
{
	char path[32], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		*name = '\0';
	fclose(f);
	return !strncmp(name, "nvidia-cuda-mps", 15);
}

/* Sum the memory of the job's processes. Returns whether MPS runs. */
static bool read_memory(const struct nvml *nvml, nvmlDevice_t device,
                        const struct part_procs *procs, int64_t *ret_mib)
{
	static nvmlProcessInfo_t info[PROCESSES_MAX];
	unsigned n = PROCESSES_MAX;
	unsigned long long bytes = 0;
	bool known = true, mps = false;

	if (nvml->nvmlDeviceGetComputeRunningProcesses_v3(device, &n, info))
		return false;
	for (unsigned i = 0; i < n && i < PROCESSES_MAX; i++) {
		mps = mps || is_mps_server(info[i].pid);
		if (!has(procs, info[i].pid))
			continue;
		known = known && info[i].usedGpuMemory != NVML_NOT_AVAILABLE;
		bytes += info[i].usedGpuMemory;
	}
	if (known)
		*ret_mib = (int64_t)(bytes >> 20);
	return mps;
}

/* Returns how much of the whole GPU the processes used, in percent; -1: not
 * known. */
static int64_t read_percent(const struct nvml *nvml, nvmlDevice_t device,
                            const struct part_procs *procs, uint64_t *since_us)
{
	static nvmlProcessUtilizationSample_t sample[PROCESSES_MAX];
	unsigned n = PROCESSES_MAX;
	int code = nvml->nvmlDeviceGetProcessUtilization(device, sample, &n,
	                                                 *since_us);
	int64_t sum = 0;

	if (code)
		return code == NVML_NOT_FOUND ? 0 : -1;
	for (unsigned i = 0; i < n && i < PROCESSES_MAX; i++) {
		if (sample[i].smUtil > 100)
			return -1;
		if (sample[i].timeStamp > *since_us)
			*since_us = sample[i].timeStamp;
		if (has(procs, sample[i].pid))
			sum += sample[i].smUtil;
	}
	return sum;
}

void part_read(const struct nvml *nvml, nvmlDevice_t device,
               const struct part_procs *procs, uint32_t milli,
               uint64_t *since_us, struct gpu_now *ret)
{
	nvmlMemory_t memory = { 0 };
	int64_t used = -1, percent;

	if (!procs->n)
		return;
	if (read_memory(nvml, device, procs, &used))
		percent = -1;
	else
		percent = read_percent(nvml, device, procs, since_us);
	if (percent >= 0) {
		percent = percent * 1000 / milli;
		ret->percent = percent < 100 ? percent : 100;
	}
	if (used < 0 || nvml->nvmlDeviceGetMemoryInfo(device, &memory))
		return;
	ret->used_mib = used;
	ret->total_mib = (int64_t)(memory.total >> 20) * milli / 1000;
}
