/*
 * end.h - signals, memory and the end
 */
#ifndef AISCHEDD_RUN_SHEPHERD_END_H
#define AISCHEDD_RUN_SHEPHERD_END_H

#include <sys/resource.h>

#include "aischedd/run/shepherd/shepherd.h"

/* Returns the CPU time of an ended process. */
int64_t end_cpu_us(const struct rusage *use);

int64_t job_mem_mib(const struct shepherd *s);
/* Call fn for each process of the job; returns how many. */
size_t job_each(struct shepherd *s, proc_fn *fn, void *arg);

/* Signal every process of the job. */
void job_signal(struct shepherd *s, int signo);
void job_suspend(struct shepherd *s);
void job_resume(struct shepherd *s);
/* Tell the job why it is ended, before it is signalled: a word and a sentence,
 * in its end_file. If that cannot be written, there is none. */
void job_note_end(struct shepherd *s, const char *line);
/* SIGCONT, SIGTERM, after grace seconds SIGKILL. */
void job_end(struct shepherd *s, int64_t grace);
/* SIGKILL all processes and wait until none is left. */
void job_kill(struct shepherd *s);
/* Reap dead processes, do what is due; returns true once nothing of the job is
 * left. */
bool job_step(struct shepherd *s);
/* Returns ms until something is due, -1: never. */
int job_timeout(const struct shepherd *s);
/* Put what it used into the outcome; then remove its cgroups. */
void job_account(struct shepherd *s);

#endif
