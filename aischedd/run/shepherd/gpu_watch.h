/*
 * gpu_watch.h - measure how busy the GPUs of the job are
 *
 * The sampler, aisched-gpu, prints a line at each interval as long as we read
 * its output. It is neither our child nor in the job's cgroup, so that its CPU
 * time and memory do not count as the job's. It is started only after the job
 * has had its GPUs for a while, so that short jobs are not slowed down. If the
 * driver hangs, fails or prints nonsense, only these numbers are missing.
 *
 * If the job has a part of a GPU, the sampler measures the job's processes, as
 * its cgroup lists them. Without a cgroup nothing is known of parts.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_GPU_WATCH_H
#define AISCHEDD_RUN_SHEPHERD_GPU_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "libcommon/limits.h"

struct shepherd;

/* Sums over the samples. A sample counts for the time since the one before; the
 * last one also counts for the time until the job's end. No sample counts for
 * much longer than one interval. */
struct gpu_watch {
	/* what the job has of each GPU, in thousandths; the sum; 0: there is
	 * nothing to sample */
	uint32_t milli[LIMIT_GPUS], milli_sum;
	/* output and pidfd of the sampler; -1: none runs */
	int fd, pidfd;
	int64_t begin_at; /* monotonic ms: when to start a sampler; 0: never */
	/* monotonic ms: time up to which samples are counted */
	int64_t since;
	/* the last sample: sum of the GPUs' percentages of busy time, each
	 * multiplied by the thousandths that the job has */
	int64_t percent_milli;
	/* the last sample: thousandths of GPUs whose busy time it gives; 0:
	 * no sample yet */
	uint32_t known_milli;
	/* how long all GPUs have been idle, not counting the time in which the
	 * job was suspended */
	int64_t idle_ms;
	/* sums over all samples of the numbers above times ms */
	int64_t percent_milli_ms, known_milli_ms;
	char line[4096];
	size_t len;
	struct gpu_use use;
};

/* Plan when to start the sampler. Call this when the tasks run. */
void gpu_watch_begin(struct shepherd *s);
/* Note the job's GPUs again. Call this after a resize. */
void gpu_watch_place(struct shepherd *s);
/* Start the sampler if it is time to. */
void gpu_watch_step(struct shepherd *s, int64_t now);
/* Returns when the sampler is to be started, in monotonic ms, or 0
 * for never. */
int64_t gpu_watch_due(const struct shepherd *s);
/* Read from the sampler's pipe, which is readable: the sampler has printed a
 * line, or ended. */
void gpu_watch_hear(struct shepherd *s);
/* Stop sampling, and add the use of GPUs to the job's outcome. */
void gpu_watch_end(struct shepherd *s);

#endif
