/*
 * part.h - what a job uses of a GPU that it shares with others
 */
#ifndef GPU_PART_H
#define GPU_PART_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpu/amd.h"
#include "gpu/nvml.h"

/* The processes of the job. */
struct part_procs {
	pid_t *pid;
	size_t n;
};

/* List the processes of the cgroup in this folder; if this fails, there are
 * none. The caller frees ret->pid. */
void part_read_procs(const char *dir, struct part_procs *ret);

/*
 * Measure what these processes use of the GPU, of which the job has `milli`
 * thousandths. The percentage is of these thousandths and at most 100; memory
 * in use may exceed them, as without MPS nothing limits it.
 *
 * *since_us is the driver's time of the last measurement, 0 before the first.
 *
 * If NVIDIA's MPS runs on the GPU, the driver counts the time of its clients as
 * that of the server: the percentage is -1.
 */
void part_read(const struct nvml *nvml, nvmlDevice_t device,
               const struct part_procs *procs, uint32_t milli,
               uint64_t *since_us, struct gpu_now *ret);

#endif
