/*
 * alloc.h - a job without a script, held by its client: salloc, and srun
 * outside of jobs
 *
 * It is submitted as sbatch does, with nothing to run, and held as
 * libcommon/client/held_job.h says.
 */
#ifndef SLURM_ALLOC_H
#define SLURM_ALLOC_H

#include "libcommon/client/held_job.h"
#include "slurm/sbatch.h"

/*
 * Submit the job, wait until it has started, hold it, and set its variables. If
 * kept, it is not held, and ends by scancel or its time limit. If it has not
 * started after immediate_s seconds (SBATCH_PATIENT: no limit), it is given up.
 * Unless quiet, prints what the job waits for in the words of salloc or srun.
 * Returns the status to exit with, 0 on success.
 */
int alloc_make(struct sbatch *sbatch, bool kept, int64_t immediate_s,
               struct held_job *ret);

#endif
