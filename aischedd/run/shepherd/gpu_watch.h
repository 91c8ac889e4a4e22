/*
 * gpu_watch.h - how busy the GPUs of the job are
 *
 * The sampler, aisched-gpu, prints a line at each interval as long as we read
 * it. It is neither our child nor in the job's cgroup, so that its CPU time and
 * memory are not counted as the job's. It is started only when the job has had
 * its GPUs for a while, so that it does not slow down short jobs. If the driver
 * hangs, fails or prints nonsense, only these numbers are missing.
 *
 * GPUs that the job shares with others are not sampled: the driver says how
 * busy a GPU is, but not for which job.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_GPU_WATCH_H
#define AISCHEDD_RUN_SHEPHERD_GPU_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"

struct shepherd;

/* A sample counts for the time since the one before it; the last one also for
 * the time until the end of the job. No sample counts for much longer than one
 * interval. */
struct gpu_watch {
	uint64_t gpus;    /* the GPUs to sample, one bit each; 0: none */
	int fd, pidfd;    /* of the sampler; -1: none */
	int64_t begin_at; /* monotonic ms: when to start a sampler; 0: never */
	int64_t since;   /* monotonic ms: samples are counted up to this time */
	int64_t percent; /* the last sample: sum of the GPUs' percentages */
	uint32_t known;  /* GPUs in the last sample; 0: no sample yet */
	int64_t idle_ms; /* for how long all GPUs have been idle, without the
	                    time in which the job was suspended */
	int64_t percent_ms; /* sum over all samples: percent times ms */
	char line[4096];
	size_t len;
	struct gpu_use use;
};

/* Call it when the tasks run: plan the start of the sampler. */
void gpu_watch_begin(struct shepherd *s);
/* Call it when a resize may have changed the job's GPUs. */
void gpu_watch_place(struct shepherd *s);
/* Start the sampler if it is time. */
void gpu_watch_step(struct shepherd *s, int64_t now);
/* Returns when to start the sampler, monotonic ms, or 0. */
int64_t gpu_watch_due(const struct shepherd *s);
/* Read from the sampler, whose pipe is readable: it printed a line or ended. */
void gpu_watch_hear(struct shepherd *s);
/* Stop sampling, and put the use of GPUs into the job's outcome. */
void gpu_watch_end(struct shepherd *s);

#endif
