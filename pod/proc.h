/*
 * proc.h - the processes of a step in this pod
 */
#ifndef POD_PROC_H
#define POD_PROC_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Send the signal (0: none) to all processes of the step: those of its tasks'
 * sessions, and those with this variable in their environment. Returns how many
 * there are; sets unclear to how many more may belong to it, which are in the
 * middle of an exec.
 */
size_t pod_proc_signal(const char *variable, const pid_t *task, size_t n,
                       int signo, size_t *unclear);

/* Send the signal to all processes of all steps; returns how many there are. */
size_t pod_proc_signal_steps(int signo);

#endif
