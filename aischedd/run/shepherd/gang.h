/*
 * gang.h - tasks that are added, fail and end while others run
 */
#ifndef AISCHEDD_RUN_SHEPHERD_GANG_H
#define AISCHEDD_RUN_SHEPHERD_GANG_H

#include "aischedd/run/shepherd/shepherd.h"

/*
 * Continue with the tasks and CPUs of a new placement: running tasks without a
 * match leave, missing ones are started.
 */
void gang_place(struct shepherd *s, json_t *place);
/* Note that a process has ended, with this status of wait(). */
void gang_task_ended(struct shepherd *s, pid_t pid, int status);
/* Start and kill what is due. */
void gang_step(struct shepherd *s, int64_t now);
/* Returns when something is due, monotonic ms, or 0. */
int64_t gang_due(const struct shepherd *s);

#endif
