/*
 * relay.h - between srun and the agents of the pods
 *
 * A process beside srun that speaks to it as a shepherd does
 * (libcommon/step_msg.h), and to agents in frames. It ends with srun, and what
 * srun has started ends when its connections do.
 */
#ifndef POD_RELAY_H
#define POD_RELAY_H

#include "pod/job.h"
#include "slurm/srun.h"

/* Start it. Returns the end of the connection for srun. */
int relay_start(const struct pod_job *job, const struct srun *srun,
                struct err *err);

#endif
