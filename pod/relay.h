/*
 * relay.h - pass messages between srun and the agents of the pods
 *
 * The relay is a child process of srun. It speaks to srun as a shepherd does
 * (libcommon/step_msg.h), and to agents in frames. It ends with srun; when its
 * connections end, the agents end the tasks.
 */
#ifndef POD_RELAY_H
#define POD_RELAY_H

#include "pod/job.h"
#include "slurm/srun.h"

/* Start the relay. Returns srun's end of the connection, or -1. */
int relay_start(const struct pod_job *job, const struct srun *srun,
                struct err *err);

#endif
