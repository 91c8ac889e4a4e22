/*
 * procs.h - what the processes of a step use, from /proc of this machine
 *
 * A process belongs to the step named in the environment that it was
 * started with.
 */
#ifndef SLURM_ACCT_PROCS_H
#define SLURM_ACCT_PROCS_H

#include <stdint.h>

#include "libcommon/buf.h"

struct procs_use {
	int64_t n;
	int64_t cpu_ms;                /* with children that have ended */
	int64_t rss_kib, vm_kib;       /* of all processes together, now */
	int64_t peak_kib, vm_peak_kib; /* of the largest process so far */
	struct buf pids;               /* "12,13" */
};

/* step -1: the script of the job. Processes that the caller may not look into
 * are left out. */
void procs_read(int64_t job, int64_t step, struct procs_use *ret);
void procs_free(struct procs_use *use);

#endif
