/*
 * step_task.h - from the request of a step to its running processes
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEP_TASK_H
#define AISCHEDD_RUN_SHEPHERD_STEP_TASK_H

#include "aischedd/run/shepherd/job_step.h"

/*
 * Start the next task of the step. step->give then has srun's ends of its pipes
 * and its terminal.
 */
int step_task_start(struct shepherd *s, struct job_step *step, struct err *err);

/* Returns the index of the order's task with this rank, which a step is to
 * resemble; -1: it does not run. */
int64_t step_task_slot(const struct shepherd *s, int64_t rank);

/* Close what is only needed to start tasks. */
void step_task_close(struct job_step *step);
/* Close the descriptors that srun has got. */
void step_task_given(struct job_step *step);

#endif
