/*
 * procs.h - the resources that the processes of a step use, from /proc of this
 * machine
 *
 * A process belongs to the step named in its initial environment
 * (/proc/PID/environ).
 */
#ifndef SLURM_ACCT_PROCS_H
#define SLURM_ACCT_PROCS_H

#include <stdint.h>

#include "libcommon/buf.h"

struct procs_use {
	int64_t n;
	int64_t cpu_ms;          /* with children that have ended */
	int64_t rss_kib, vm_kib; /* sums over the processes, now */
	/* the largest peaks that any one process has had */
	int64_t peak_kib, vm_peak_kib;
	struct buf pids; /* "12,13" */
};

/* Read the use of a step; step -1 is the script of the job. Processes whose
 * environment the caller may not read are left out. */
void procs_read(int64_t job, int64_t step, struct procs_use *ret);
void procs_free(struct procs_use *use);

#endif
