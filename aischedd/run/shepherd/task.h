/*
 * task.h - from the order to running processes
 */
#ifndef AISCHEDD_RUN_SHEPHERD_TASK_H
#define AISCHEDD_RUN_SHEPHERD_TASK_H

#include "aischedd/run/shepherd/shepherd.h"

/*
 * Prepare files, credentials, cgroup, and start the processes; all or none. A
 * failure is a fault of the user or of the system.
 */
int tasks_start(struct shepherd *s, enum start_fault *ret_fault,
                struct err *err);
/*
 * Returns 1 once all tasks run the script, 0 while one does not yet. Fails with
 * the error of one of them, or if one takes too long: users can stop their
 * tasks before that, and files may be on a server that does not answer.
 */
int tasks_started(struct shepherd *s, enum start_fault *ret_fault,
                  struct err *err);
/* Start one more task, or a failed one again. If it fails, the job goes on
 * without it. */
int task_start(struct shepherd *s, uint32_t i, struct err *err);
/* Kill it if it missed the deadline of its exec. */
void task_check(struct task *t, int64_t now);
/* Returns 1, and why, if it could not become the script; else 0. */
int task_report(struct task *t, struct err *err);
/* Undo, in a process that becomes a task, what it inherits from the shepherd:
 * OOM score, signal mask, limits. */
void task_reset_oom_score(void);
void task_unblock_signals(void);
void task_limits(struct shepherd *s);

/* Write a line of ours to each stderr of the job. */
void tasks_say(struct shepherd *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
