/*
 * layout.h - which pods run the tasks of a step
 *
 * The agent of the first pod makes the layout, and srun sends it to the other
 * agents. These functions do no I/O.
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
	uint64_t *gpus;    /* [n] GPUs in each of them, as bits */
	int64_t gpus_task; /* GPUs of a task; -1: each task sees all GPUs of the
	                      step in its pod */
	bool has_gpus;     /* the step requested a number of GPUs */
};

/* Read the JSON of a layout for this many tasks. Fails with EINVAL; free *ret
 * with pod_layout_free() in any case. */
int pod_layout_read(const struct pod_job *job, const char *text, int64_t tasks,
                    struct pod_layout *ret, struct err *err);
void pod_layout_free(struct pod_layout *layout);

/* Returns the first rank in this pod. */
int64_t pod_layout_first(const struct pod_layout *layout);

#endif
