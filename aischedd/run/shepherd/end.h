/*
 * end.h - signal and suspend the job, watch its memory, end it
 */
#ifndef AISCHEDD_RUN_SHEPHERD_END_H
#define AISCHEDD_RUN_SHEPHERD_END_H

#include <sys/resource.h>

#include "aischedd/run/shepherd/shepherd.h"

/* Returns the CPU time of an ended process, in microseconds. */
int64_t end_cpu_us(const struct rusage *use);

/* Returns the memory limit of the whole job in MiB. */
int64_t job_mem_mib(const struct shepherd *s);
/* Returns what the whole job may store in its temporary folder, in MiB; 0: any
 * amount. */
int64_t job_tmp_mib(const struct shepherd *s);
/* Call fn for each process of the job; returns how many there are. */
size_t job_each(struct shepherd *s, proc_fn *fn, void *arg);

/* Send the signal to every process of the job. */
void job_signal(struct shepherd *s, int signo);
void job_suspend(struct shepherd *s);
void job_resume(struct shepherd *s);
/* Write a line to the job's end_file: a word and a sentence that say why the
 * job is ended. Call this before the job gets SIGTERM. If writing fails, there
 * is no file. */
void job_note_end(struct shepherd *s, const char *line);
/* End the job: send SIGCONT and SIGTERM, then SIGKILL after grace seconds. */
void job_end(struct shepherd *s, int64_t grace);
/* Send SIGKILL to all processes and wait until none is left. */
void job_kill(struct shepherd *s);
/* Reap processes that have ended, and do what is due by now. Returns true once
 * no process of the job is left. */
bool job_step(struct shepherd *s);
/* Returns after how many ms job_step() must be called; -1: not until
 * an event. */
int job_timeout(const struct shepherd *s);
/* Add the job's use of CPU time and memory to its outcome, then remove
 * its cgroups. */
void job_account(struct shepherd *s);

#endif
