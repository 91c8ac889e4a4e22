/*
 * layout.h - which pods run the tasks of a step
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
	int64_t self;      /* index of this pod among the n */
	size_t n;          /* pods of the step */
	int64_t *pod;      /* [n] their numbers in the job */
	int64_t *tasks;    /* [n] tasks in each of them */
	uint64_t *gpus;    /* [n] GPUs in each, one bit each */
	int64_t gpus_task; /* GPUs of a task; -1: it sees all of the step's */
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
