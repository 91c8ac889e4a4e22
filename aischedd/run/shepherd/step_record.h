/*
 * step_record.h - write the record of a job's steps
 *
 * The shepherd appends to the file `steps` in the folder of the attempt: a line
 * of JSON at the start of each step, and one at its end:
 *
 *	{"step": N, "name": TEXT, "tasks": N, "cpus": N, "mem_mib": N,
 *	 "gpus": N, "start": UNIX}
 *	{"step": N, "end": UNIX, "exit_code": N, "signal": N, "why": TEXT,
 *	 "cpu_ms": N, "peak_kib": N}
 *
 * why: "time" if the step's time limit ended it; "cancel" if srun, a signal or
 * the job's end did; else "". The daemon keeps the text as it is. The file is
 * not synced: a power failure may lose lines.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEP_RECORD_H
#define AISCHEDD_RUN_SHEPHERD_STEP_RECORD_H

#include "aischedd/run/shepherd/job_step.h"

void step_record_begin(const struct shepherd *s, const struct job_step *step);
void step_record_end(const struct shepherd *s, const struct job_step *step);

#endif
