/*
 * gpu_watch.h - how busy the GPUs of the job are
 *
 * aisched-gpu prints it now and then for as long as we read it. It is no child
 * of ours and no process of the job, so that it counts nowhere, and is started
 * when the job has had its GPUs for a while: short jobs do not pay for it. A
 * driver that hangs, fails or tells nonsense costs the numbers, nothing else.
 *
 * Only GPUs that the job has as a whole are looked at: the driver says what a
 * GPU does, and not for whom.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_GPU_WATCH_H
#define AISCHEDD_RUN_SHEPHERD_GPU_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"

struct shepherd;

/* A sample counts for the time since the one before it, and the last one for
 * the time until the end of the job; none for much longer than a period. */
struct gpu_watch {
	uint64_t gpus; /* the GPUs of the job, one bit each; 0: it has none to
	                  look at */
	int fd, pidfd; /* of the sampler; -1: none */
	int64_t begin_at; /* monotonic ms: when to start a sampler; 0: never */
	int64_t since;    /* monotonic ms: up to when samples are counted */
	int64_t percent;  /* the last sample: per cent of all GPUs, added up */
	uint32_t known;   /* how many GPUs it told about; 0: there was none */
	int64_t idle_ms;  /* for how long all of them have done nothing,
	                     suspensions left out */
	int64_t percent_ms; /* percent times milliseconds, of all samples */
	char line[4096];
	size_t len;
	struct gpu_use use;
};

/* The tasks run. */
void gpu_watch_begin(struct shepherd *s);
/* The job may have other GPUs than before. */
void gpu_watch_place(struct shepherd *s);
/* Start the sampler when it is due; returns when that is, or 0. */
void gpu_watch_step(struct shepherd *s, int64_t now);
int64_t gpu_watch_due(const struct shepherd *s);
/* The sampler has printed something, or is gone. */
void gpu_watch_hear(struct shepherd *s);
/* The job is over: put what is known into its outcome. */
void gpu_watch_end(struct shepherd *s);

#endif
