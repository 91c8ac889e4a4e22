/*
 * srun_step.h - the life of a step, as srun sees it
 */
#ifndef SLURM_SRUN_STEP_H
#define SLURM_SRUN_STEP_H

#include "slurm/srun.h"

/* Run a step in the job until it ends. Returns srun's exit status. */
int srun_step(const struct srun *srun, const struct srun_job *job,
              char *const *argv);

/* Returns the part behind the last slash. */
const char *srun_base_name(const char *path);

#endif
