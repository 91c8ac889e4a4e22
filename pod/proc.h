/*
 * proc.h - the processes of a step in this pod
 */
#ifndef POD_PROC_H
#define POD_PROC_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Send a signal (0: none) to all processes of a step: those in the sessions of
 * its tasks, and those with this variable in their environment. Returns how
 * many there are. *unclear becomes the number of other processes that may
 * belong to the step: they are in the middle of an exec, when the environment
 * cannot be read.
 */
size_t pod_proc_signal(const char *variable, const pid_t *task, size_t n,
                       int signo, size_t *unclear);

/* Send the signal to all processes of all steps; returns how many there are. */
size_t pod_proc_signal_steps(int signo);

#endif
