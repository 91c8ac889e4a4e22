/*
 * end.h - signal and suspend the job, watch its memory, end it
 */
#ifndef AISCHEDD_RUN_SHEPHERD_END_H
#define AISCHEDD_RUN_SHEPHERD_END_H

#include <sys/resource.h>

#include "aischedd/run/shepherd/shepherd.h"

/* Returns the CPU time of an ended process, in microseconds. */
int64_t end_cpu_us(const struct rusage *use);

/* Returns the memory limit of the whole job. */
int64_t job_mem_mib(const struct shepherd *s);
/* Call fn for each process of the job; returns how many. */
size_t job_each(struct shepherd *s, proc_fn *fn, void *arg);

/* Signal every process of the job. */
void job_signal(struct shepherd *s, int signo);
void job_suspend(struct shepherd *s);
void job_resume(struct shepherd *s);
/* Write the line, a word and a sentence on why the job is ended, to its
 * end_file; call it before the job gets SIGTERM. If the file cannot be written,
 * there is none. */
void job_note_end(struct shepherd *s, const char *line);
/* End the job with SIGCONT and SIGTERM, then SIGKILL after grace seconds. */
void job_end(struct shepherd *s, int64_t grace);
/* SIGKILL all processes and wait until none is left. */
void job_kill(struct shepherd *s);
/* Reap dead processes, and do what is due by now. Returns true once no process
 * of the job is left. */
bool job_step(struct shepherd *s);
/* Returns ms until something is due, -1: never. */
int job_timeout(const struct shepherd *s);
/* Put the CPU time and memory that the job used into the outcome; then remove
 * its cgroups. */
void job_account(struct shepherd *s);

#endif
