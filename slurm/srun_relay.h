/*
 * srun_relay.h - srun --overlap in a job of a cluster
 *
 * A client outside the cluster cannot reach the agent in the job's first pod,
 * which runs steps. So the command is no step: the daemon runs it in the pod,
 * as for aictl exec.
 */
#ifndef SLURM_SRUN_RELAY_H
#define SLURM_SRUN_RELAY_H

#include "slurm/srun.h"

/* Check that the options fit a command that is no step. If one does not, prints
 * it and returns -1. */
int srun_relay_check(const struct srun *srun);
int srun_relay(const struct srun *srun, char *const *argv);

#endif
