/* sample.c - print periodically how busy GPUs are */
#include "gpu/sample.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/amd.h"
#include "gpu/list.h"
#include "gpu/part.h"
#include "libcommon/clock.h"
#include "libcommon/parse.h"

/* Seconds after which a call of the driver is taken to hang. */
enum { HANGS_S = 60 };

/* The GPUs that the command line names: NVIDIA's in device, the sysfs folders
 * of AMD's in dirfd. NULL or -1 stands for a GPU that was not found. */
struct source {
	struct nvml nvml;
	bool has_nvml;
	nvmlDevice_t device[LIMIT_GPUS];
	int dirfd[LIMIT_GPUS];
	uint32_t milli[LIMIT_GPUS];    /* the part of the job, in thousandths */
	uint64_t since_us[LIMIT_GPUS]; /* of part_read() */
	const char *cgroup;
	int n;
};

/* Returns the name as an index below n, or -1 if it is not such a number. */
static int number_of(const char *name, int n)
{
	int64_t number;

	return n && parse_int(name, 0, n - 1, &number, NULL) == 0 ? (int)number
	                                                          : -1;
}

/* Find the GPUs in order of bus ids or, if the library does not tell these, in
 * its own order. */
static unsigned find_any(const struct nvml *nvml, struct found_gpu *ret)
{
	unsigned n = find_gpus(nvml, ret), all = 0;

	if (n)
		return n;
	nvml->nvmlDeviceGetCount_v2(&all);
	for (unsigned i = 0; i < all && n < LIMIT_GPUS; i++)
		if (!nvml->nvmlDeviceGetHandleByIndex_v2(i, &ret[n].device))
			n++;
	return n;
}

static nvmlDevice_t find_device(const struct nvml *nvml,
                                const struct found_gpu *gpu, unsigned n,
                                const char *name)
{
	int number = number_of(name, (int)n);
	char uuid[NVML_TEXT];

	if (number >= 0)
		return gpu[number].device;
	for (unsigned i = 0; i < n; i++) {
		memset(uuid, 0, sizeof(uuid));
		if (!nvml->nvmlDeviceGetUUID(gpu[i].device, uuid,
		                             sizeof(uuid) - 1) &&
		    !strcmp(uuid, name))
			return gpu[i].device;
	}
	return NULL;
}

static int open_amd(struct source *ret, char *const *name)
{
	int all[LIMIT_GPUS];
	int n = amd_open(all, LIMIT_GPUS);

	for (int i = 0; i < ret->n; i++) {
		int number = number_of(name[i], n);

		ret->dirfd[i] = number < 0 ? -1 : all[number];
	}
	return n;
}

static int source_open(struct source *ret, char *const *name, struct err *err)
{
	struct found_gpu gpu[LIMIT_GPUS];
	unsigned found;
	struct err why;

	if (nvml_open(&ret->nvml, &why) < 0) {
		if (why.code == ENOENT && open_amd(ret, name) > 0)
			return 0;
		return err_set(err, why.code, "%s", why.text);
	}
	ret->has_nvml = true;
	found = find_any(&ret->nvml, gpu);
	for (int i = 0; i < ret->n; i++)
		ret->device[i] = find_device(&ret->nvml, gpu, found, name[i]);
	return 0;
}

/* Get the memory of the GPU without what the driver reserves for itself, if the
 * driver is new enough to tell them apart. */
static int ask_memory(const struct nvml *nvml, nvmlDevice_t device,
                      nvmlMemory_t *ret)
{
	nvmlMemory_v2_t memory = { .version = NVML_MEMORY_V2 };

	if (nvml->nvmlDeviceGetMemoryInfo_v2(device, &memory))
		return nvml->nvmlDeviceGetMemoryInfo(device, ret);
	ret->used = memory.used;
	ret->total = memory.total;
	return 0;
}

static void ask_nvml(const struct nvml *nvml, nvmlDevice_t device,
                     struct gpu_now *ret)
{
	nvmlUtilization_t use = { 0 };
	nvmlMemory_t memory = { 0 };

	if (!nvml->nvmlDeviceGetUtilizationRates(device, &use) &&
	    use.gpu <= 100)
		ret->percent = use.gpu;
	if (ask_memory(nvml, device, &memory) || memory.used > memory.total)
		return;
	ret->used_mib = (int64_t)(memory.used >> 20);
	ret->total_mib = (int64_t)(memory.total >> 20);
}

static void ask(struct source *from, int i, const struct part_procs *procs,
                struct gpu_now *ret)
{
	bool whole = from->milli[i] == 1000;

	if (from->has_nvml && from->device[i] && whole)
		ask_nvml(&from->nvml, from->device[i], ret);
	else if (from->has_nvml && from->device[i])
		part_read(&from->nvml, from->device[i], procs, from->milli[i],
		          &from->since_us[i], ret);
	else if (!from->has_nvml && from->dirfd[i] >= 0 && whole)
		amd_read(from->dirfd[i], ret);
}

/* Print a line; returns false if nobody reads any longer. */
static bool print_all(struct source *from)
{
	struct part_procs procs = { 0 };

	if (from->cgroup)
		part_read_procs(from->cgroup, &procs);
	for (int i = 0; i < from->n; i++) {
		struct gpu_now now = { -1, -1, -1 };

		ask(from, i, &procs, &now);
		printf("%s%lld %lld %lld", i ? " " : "", (long long)now.percent,
		       (long long)now.used_mib, (long long)now.total_mib);
	}
	putchar('\n');
	free(procs.pid);
	return fflush(stdout) == 0;
}

/* Sleep until this time; returns false if stdout is closed by then. */
static bool sleep_until(int64_t at_ms)
{
	struct pollfd reader = { .fd = STDOUT_FILENO };
	int64_t left;

	while ((left = at_ms - clock_ms()) > 0)
		if (poll(&reader, 1, (int)(left < 60000 ? left : 60000)) > 0)
			return false;
	return true;
}

/* Cut the thousandths off each name; returns -1 if they are bad. */
static int take_parts(struct source *ret, char *const *name, struct err *err)
{
	for (int i = 0; i < ret->n; i++) {
		char *slash = strchr(name[i], '/');
		int64_t milli = 1000;

		if (slash && parse_int(slash + 1, 1, 1000, &milli, err) < 0)
			return -1;
		if (slash)
			*slash = '\0';
		ret->milli[i] = (uint32_t)milli;
	}
	return 0;
}

int sample_gpus(int64_t period_s, const char *cgroup, char *const *name, int n,
                struct err *err)
{
	struct source from = { .cgroup = cgroup, .n = n };
	int64_t next;
	bool more;

	if (take_parts(&from, name, err) < 0)
		return -1;

	alarm(HANGS_S);
	if (source_open(&from, name, err) < 0)
		return -1;
	do {
		next = clock_ms() + period_s * 1000;
		alarm(HANGS_S);
		more = print_all(&from);
		alarm(0);
	} while (more && sleep_until(next));
	return 0;
}
