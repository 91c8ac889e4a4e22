/*
 * step_record.h - what is remembered of steps
 *
 * The file `steps` in the folder of the attempt has a line of JSON for the
 * beginning of each step and one for its end:
 *
 *	{"step": N, "name": TEXT, "tasks": N, "cpus": N, "mem_mib": N,
 *	 "gpus": N, "start": UNIX}
 *	{"step": N, "end": UNIX, "exit_code": N, "signal": N, "why": TEXT,
 *	 "cpu_ms": N, "peak_kib": N}
 *
 * why: "time" its limit, "cancel" srun, a signal for it or the job's end, else
 * "". The daemon keeps the file as it is. It is not synced: a power failure may
 * cost lines.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEP_RECORD_H
#define AISCHEDD_RUN_SHEPHERD_STEP_RECORD_H

#include "aischedd/run/shepherd/job_step.h"

void step_record_begin(const struct shepherd *s, const struct job_step *step);
void step_record_end(const struct shepherd *s, const struct job_step *step);

#endif
