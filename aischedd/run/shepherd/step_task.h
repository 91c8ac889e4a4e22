/*
 * step_task.h - start the tasks of a step as processes
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEP_TASK_H
#define AISCHEDD_RUN_SHEPHERD_STEP_TASK_H

#include "aischedd/run/shepherd/job_step.h"

/*
 * Start the next task of the step. Afterwards step->give has the ends of the
 * task's pipes and terminal that are to be sent to srun.
 */
int step_task_start(struct shepherd *s, struct job_step *step, struct err *err);

/* Returns the index in s->task of the task whose place a step with STEP_AS_TASK
 * takes, by its rank; -1 if there is none. An allocation has no tasks; for rank
 * 0 of it, returns 0. */
int64_t step_task_slot(const struct shepherd *s, int64_t rank);

/* Close the request and srun's descriptors. Call this when no further task will
 * be started. */
void step_task_close(struct job_step *step);
/* Close our copies of step->give after they were sent to srun. */
void step_task_given(struct job_step *step);

#endif
