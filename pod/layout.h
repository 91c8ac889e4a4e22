/*
 * layout.h - where the tasks of a step are
 *
 * Made by the agent of the first pod; srun hands it to the other agents. Pure.
 */
#ifndef POD_LAYOUT_H
#define POD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pod/job.h"

struct pod_layout {
	int64_t step;
	int64_t self;      /* which of its pods this one is */
	size_t n;          /* pods */
	int64_t *pod;      /* [n] which pods of the job they are */
	int64_t *tasks;    /* [n] */
	uint64_t *gpus;    /* [n] */
	int64_t gpus_task; /* of each task; -1: all see those of the step */
	bool has_gpus;     /* the step asked for a number of GPUs */
};

/* Read the JSON of a layout for this many tasks. Fails with EINVAL; free *ret
 * with pod_layout_free() in any case. */
int pod_layout_read(const struct pod_job *job, const char *text, int64_t tasks,
                    struct pod_layout *ret, struct err *err);
void pod_layout_free(struct pod_layout *layout);

/* The first rank in this pod. */
int64_t pod_layout_first(const struct pod_layout *layout);

#endif
