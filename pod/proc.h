/*
 * proc.h - the processes of a step in this pod
 */
#ifndef POD_PROC_H
#define POD_PROC_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Send the signal (0: none) to all processes of the step: those of the sessions
 * of its tasks, and those that have this variable in their environment. Returns
 * how many there are; unclear is set to how many more there may be, which
 * become another program now.
 */
size_t pod_proc_signal(const char *variable, const pid_t *task, size_t n,
                       int signo, size_t *unclear);

#endif
