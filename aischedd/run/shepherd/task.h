/*
 * task.h - start the tasks of an order as processes
 */
#ifndef AISCHEDD_RUN_SHEPHERD_TASK_H
#define AISCHEDD_RUN_SHEPHERD_TASK_H

#include "aischedd/run/shepherd/shepherd.h"

/*
 * Prepare files, credentials and cgroup, and start the processes of all tasks.
 * If one cannot be started, all are ended, and *ret_fault tells whether this is
 * the user's or the system's fault.
 */
int tasks_start(struct shepherd *s, enum start_fault *ret_fault,
                struct err *err);
/*
 * Returns 1 once all tasks have called exec, 0 until then. Fails with the error
 * of a task, or if a task takes too long, because its user stopped it or
 * because its files are on a server that does not answer.
 */
int tasks_started(struct shepherd *s, enum start_fault *ret_fault,
                  struct err *err);
/* Start one more task, or a failed one again. If that fails, the job continues
 * without it. */
int task_start(struct shepherd *s, uint32_t i, struct err *err);
/* Kill the task if it has not called exec by its deadline. */
void task_check(struct task *t, int64_t now);
/* Returns 1, with *err set, if the task could not exec the script; else 0. */
int task_report(struct task *t, struct err *err);
/* Undo, in a process that becomes a task, what was inherited from the shepherd:
 * OOM score, signal mask, rlimits. */
void task_reset_oom_score(void);
void task_unblock_signals(void);
void task_limits(struct shepherd *s);

/* Write a line "aischedd: error: ..." to each stderr file of the job. */
void tasks_say(struct shepherd *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
