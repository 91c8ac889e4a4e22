/*
 * proc.h - the processes of this machine, from /proc
 *
 * If there is no cgroup, the processes of a job are the descendants of its
 * shepherd. They remain descendants even if their parents end, because the
 * shepherd is their subreaper.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_PROC_H
#define AISCHEDD_RUN_SHEPHERD_PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef void proc_fn(pid_t pid, void *arg);

/* Call fn for each descendant of root, parents before children; returns how
 * many there are. */
size_t proc_descendants(pid_t root, proc_fn *fn, void *arg);

/* Whether root is an ancestor of the process. */
bool proc_is_below(pid_t pid, pid_t root);

/*
 * Send the signal to the process if is() returns true for it. The signal is
 * sent to a pidfd that was opened before is() is called, so it does not reach a
 * process that has got the same pid meanwhile.
 */
typedef bool proc_is_fn(pid_t pid, const void *arg);
void proc_signal(pid_t pid, int signo, proc_is_fn *is, const void *arg);

/* Whether the process runs the caller's program, and waits for nothing but
 * a CPU. */
bool proc_is_ready(pid_t pid);

/* Call fn for each thread of the process. */
void proc_threads(pid_t pid, proc_fn *fn, void *arg);

/* Returns the resident memory and swap of a process in KiB, with shared pages
 * counted in full; 0 if the process is gone. */
int64_t proc_memory_kib(pid_t pid);

/* As proc_memory_kib(), but shared pages are divided among the processes that
 * share them, which is slower. Falls back to proc_memory_kib() if the process's
 * smaps_rollup cannot be read. */
int64_t proc_memory_exact_kib(pid_t pid);

/* Returns the pid of the next process in an open /proc, 0 at the end. */
pid_t proc_next(DIR *dir);

/* Whether the process was given this variable with this value when it
 * called exec. *unclear (may be NULL) becomes true if this cannot be read
 * now; see environ_read(). */
bool proc_has_env(pid_t pid, const char *name, const char *value,
                  bool *unclear);

#endif
