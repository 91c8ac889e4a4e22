/*
 * srun_relay.h - srun --overlap in a job of a cluster
 *
 * Steps are run by the agent in the job's first pod, which nobody reaches from
 * outside. A command beside them goes through the daemon, as with aictl exec.
 */
#ifndef SLURM_SRUN_RELAY_H
#define SLURM_SRUN_RELAY_H

#include "slurm/srun.h"

/* Returns -1 and prints which option is for steps only. */
int srun_relay_check(const struct srun *srun);
int srun_relay(const struct srun *srun, char *const *argv);

#endif
