/*
 * env.h - the environment of a task in a pod
 */
#ifndef POD_ENV_H
#define POD_ENV_H

#include <stddef.h>
#include <stdint.h>

#include "libcommon/mem.h"
#include "libcommon/step_msg.h"
#include "pod/layout.h"

/* The variable by which a step's processes in this pod are recognized; the
 * function appends it as NAME=value. */
#define POD_STEP_VAR "AISCHED_POD_STEP"
void pod_env_mark(const struct pod_job *job, const struct pod_layout *layout,
                  struct buf *out);

/* Returns the environment of task `local` of this pod, in the arena: the
 * variables that srun sent (len bytes, each ended by a zero byte), overridden
 * by the variables of the step and the task. */
char **pod_env(const struct pod_job *job, const struct pod_layout *layout,
               const struct step_request *req, int64_t local, const char *texts,
               size_t len, struct arena *arena);

/* Append task counts as Slurm writes them: "3(x2),1". */
void pod_env_counts(const int64_t *count, size_t n, struct buf *out);

#endif
