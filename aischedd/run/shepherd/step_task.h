/*
 * step_task.h - from the request of a step to its running processes
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEP_TASK_H
#define AISCHEDD_RUN_SHEPHERD_STEP_TASK_H

#include "aischedd/run/shepherd/job_step.h"

/*
 * Start the next task of the step. The ends of its pipes and its terminal that
 * srun shall have are in step->give then.
 */
int step_task_start(struct shepherd *s, struct job_step *step, struct err *err);

/* Returns where the order has the task of this rank that a step is to be like;
 * -1: it does not run. */
int64_t step_task_slot(const struct shepherd *s, int64_t rank);

/* Close what only starting tasks need. */
void step_task_close(struct job_step *step);
/* Close what was for srun. */
void step_task_given(struct job_step *step);

#endif
