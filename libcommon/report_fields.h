/*
 * report_fields.h - the columns of a report of resource usage
 *
 * X(name on the wire, decimal places, header, how it is shown). Values that are
 * not known are null.
 */
#ifndef LIBCOMMON_REPORT_FIELDS_H
#define LIBCOMMON_REPORT_FIELDS_H

#include <stdint.h>

/* The latest time, in seconds since 1970, at which a report may end; so its
 * times in milliseconds do not overflow. */
#define REPORT_LAST ((int64_t)1 << 40)

#define REPORT_FIELDS(X)                                \
	X(jobs, 0, "JOBS", COUNT)                       \
	X(cpu_hours, 6, "CPU_H", HOURS)                 \
	X(mem_gib_hours, 6, "MEM_GIB_H", HOURS)         \
	X(gpu_hours, 6, "GPU_H", HOURS)                 \
	X(cpu_used_hours, 6, "CPU_USED_H", HOURS)       \
	X(gpu_busy_hours, 6, "GPU_BUSY_H", HOURS)       \
	X(cpueff, 6, "CPUEFF", RATIO)                   \
	X(memeff, 6, "MEMEFF", RATIO)                   \
	X(gpueff, 6, "GPUEFF", RATIO)                   \
	X(gpu_known_ratio, 6, "GPU_KNOWN", RATIO)       \
	X(idle_gpu_hours, 6, "IDLE_GPU_H", HOURS)       \
	X(evicted_gpu_hours, 6, "EVICTED_GPU_H", HOURS) \
	X(failed_gpu_hours, 6, "FAILED_GPU_H", HOURS)   \
	X(energy_kwh, 6, "ENERGY_KWH", HOURS)           \
	X(cost, 6, "COST", MONEY)                       \
	X(wait_mean, 3, "WAIT_MEAN", SECONDS)           \
	X(wait_p50, 3, "WAIT_P50", SECONDS)             \
	X(wait_p95, 3, "WAIT_P95", SECONDS)             \
	X(wait_max, 3, "WAIT_MAX", SECONDS)             \
	X(completed, 0, "COMPLETED", COUNT)             \
	X(failed, 0, "FAILED", COUNT)                   \
	X(cancelled, 0, "CANCELLED", COUNT)             \
	X(timeout, 0, "TIMEOUT", COUNT)                 \
	X(preemptions, 0, "PREEMPTIONS", COUNT)

/* Columns of a report by pool, which has one row for each resource, GPUs first.
 * Ratios are fractions of what the pool's nodes offered. */
#define CAPACITY_FIELDS(X)                      \
	X(offered_hours, 6, "OFFERED_H", HOURS) \
	X(allocated, 6, "ALLOCATED", RATIO)     \
	X(busy, 6, "BUSY", RATIO)               \
	X(reserved, 6, "RESERVED", RATIO)       \
	X(drained, 6, "DRAINED", RATIO)         \
	X(down, 6, "DOWN", RATIO)               \
	X(idle, 6, "IDLE", RATIO)

#endif
