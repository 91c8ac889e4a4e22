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

/* The variable by which processes of the step are known in this pod. */
#define POD_STEP_VAR "AISCHED_POD_STEP"
void pod_env_mark(const struct pod_job *job, const struct pod_layout *layout,
                  struct buf *out);

/* Returns the environment of the local task, in the arena: what srun sent
 * (len bytes of texts, each ended by a zero byte), with ours in its place. */
char **pod_env(const struct pod_job *job, const struct pod_layout *layout,
               const struct step_request *req, int64_t local, const char *texts,
               size_t len, struct arena *arena);

/* Append "3(x2),1": how Slurm writes the tasks of nodes. */
void pod_env_counts(const int64_t *count, size_t n, struct buf *out);

#endif
