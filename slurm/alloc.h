/*
 * alloc.h - a job without a script that its client keeps alive: for salloc, and
 * for srun outside of jobs
 *
 * The job is submitted as sbatch submits jobs, but with nothing to run. It ends
 * when the client ends, as libcommon/client/held_job.h says.
 */
#ifndef SLURM_ALLOC_H
#define SLURM_ALLOC_H

#include "libcommon/client/held_job.h"
#include "slurm/sbatch.h"

/*
 * Submit the job, wait until it has started, hold it open (held_job_hold()),
 * and set its variables in our environment. If `kept` is true, the job is not
 * held: it ends by scancel or its time limit. If the job has not started after
 * immediate_s seconds (SBATCH_PATIENT: no limit), print an error and exit:
 * this cancels the job. Unless the job is quiet, print that it waits, in the
 * wording of salloc or srun. Returns the exit status of the command, 0 on
 * success.
 */
int alloc_make(struct sbatch *sbatch, bool kept, int64_t immediate_s,
               struct held_job *ret);

#endif
