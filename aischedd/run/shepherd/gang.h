/*
 * gang.h - tasks that are added, fail and end while others run
 */
#ifndef AISCHEDD_RUN_SHEPHERD_GANG_H
#define AISCHEDD_RUN_SHEPHERD_GANG_H

#include "aischedd/run/shepherd/shepherd.h"

/*
 * Continue with the tasks and CPUs of a new placement: end running tasks that
 * match no task of it, and start those of its tasks that no running one
 * matches.
 */
void gang_place(struct shepherd *s, json_t *place);
/* Handle the end of a process, with this status of wait(): a failed task starts
 * again or ends the others, as the job asks. */
void gang_task_ended(struct shepherd *s, pid_t pid, int status);
/* Start tasks and kill leaving tasks whose time has come. */
void gang_step(struct shepherd *s, int64_t now);
/* Returns when gang_step() is to be called next, monotonic ms, or 0. */
int64_t gang_due(const struct shepherd *s);

#endif
