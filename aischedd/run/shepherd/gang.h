/*
 * gang.h - tasks that are added, fail and end while others run
 */
#ifndef AISCHEDD_RUN_SHEPHERD_GANG_H
#define AISCHEDD_RUN_SHEPHERD_GANG_H

#include "aischedd/run/shepherd/shepherd.h"

/*
 * Continue with the tasks and CPUs of a new placement: match its tasks with
 * running tasks of the same GPUs, end the other running tasks, and start the
 * other tasks of the placement.
 */
void gang_place(struct shepherd *s, json_t *place);
/* Handle the end of the process pid, with a status as from wait(). A task that
 * failed is started again or ends the job, as the job asks. */
void gang_task_ended(struct shepherd *s, pid_t pid, int status);
/* Start tasks, and kill tasks that a resize ends, if it is time to. */
void gang_step(struct shepherd *s, int64_t now);
/* Returns when gang_step() must be called next, in monotonic ms, or 0
 * for never. */
int64_t gang_due(const struct shepherd *s);

#endif
