/*
 * task.h - one task: from the request of a step to a running process
 */
#ifndef POD_TASK_H
#define POD_TASK_H

#include <sys/types.h>

#include "pod/env.h"

struct pod_task {
	pid_t pid;
	int in, out, err; /* our ends of its pipes; -1: none, or closed */
	int status;       /* as wait() has it */
	bool ended;
};

/* Everything that the tasks of a step in this pod have in common. */
struct pod_image {
	const struct pod_job *job;
	const struct pod_layout *layout;
	const struct step_request *req;
	char **argv;
	const char *env; /* variables, each ended by a zero byte */
	size_t env_len;
	struct arena *arena;
};

/* Start task `local` of this pod. Fails if its pipes or process cannot
 * be created. */
int pod_task_start(const struct pod_image *image, int64_t local,
                   struct pod_task *ret, struct err *err);

#endif
