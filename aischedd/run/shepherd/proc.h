/*
 * proc.h - the processes of this machine, from /proc
 *
 * Without a cgroup, the processes of a job are the descendants of its shepherd.
 * They remain its descendants even if their parents end, because the shepherd
 * is their subreaper.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_PROC_H
#define AISCHEDD_RUN_SHEPHERD_PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef void proc_fn(pid_t pid, void *arg);

/* Call fn for each descendant of root, parents first; returns how many. */
size_t proc_descendants(pid_t root, proc_fn *fn, void *arg);

/* Whether root is an ancestor of the process. */
bool proc_is_below(pid_t pid, pid_t root);

/*
 * Send the signal to the process if is() returns true for it. is() is called
 * while we have a pidfd of the process, so another process that has got the
 * same pid meanwhile is never signalled.
 */
typedef bool proc_is_fn(pid_t pid, const void *arg);
void proc_signal(pid_t pid, int signo, proc_is_fn *is, const void *arg);

/* Call fn for each thread of the process. */
void proc_threads(pid_t pid, proc_fn *fn, void *arg);

/* Returns resident memory and swap of a process in KiB, with shared pages
 * counted in full; 0 if it is gone. */
int64_t proc_memory_kib(pid_t pid);

/* Returns the same, but divides shared pages among the processes that share
 * them; slower. Falls back to proc_memory_kib() if smaps_rollup of the process
 * cannot be read. */
int64_t proc_memory_exact_kib(pid_t pid);

/* Returns the next process of an open /proc, 0 at the end. */
pid_t proc_next(DIR *dir);

/* Whether the initial environment of the process's program has this variable
 * with this value. *unclear, unless NULL, becomes true if that cannot be told
 * now; see environ_read(). */
bool proc_has_env(pid_t pid, const char *name, const char *value,
                  bool *unclear);

#endif
