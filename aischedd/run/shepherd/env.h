/*
 * env.h - the environment of a job's processes
 *
 * Pure. One table has each AISCHED_* variable with its SLURM_* twin; a test
 * compares the man page with it.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_ENV_H
#define AISCHEDD_RUN_SHEPHERD_ENV_H

#include <stdint.h>
#include <sys/types.h>

#include "aischedd/run/shepherd/order.h"

/* Has the pid of the task: by this its processes are told from others. */
#define TASK_PID_VAR  "AISCHED_TASK_PID"
#define TASK_PID_TWIN "SLURM_TASK_PID"
/* The value until env_set_pid() sets it. */
#define TASK_PID_ROOM "0000000000"

/* One process of the job. */
struct env_of {
	const struct order *order;
	uint32_t slot;      /* index of its task in the order */
	uint32_t rank;      /* both 0 for a script that runs once */
	int64_t start;      /* unix seconds */
	const char *tmpdir; /* its private folder */
	const char *run_id;
	const char *home, *shell; /* of the user; used if env has none */
};

/*
 * Returns the submitter's environment, without variables that only we set, and
 * then ours; a NULL-terminated array in the arena.
 */
char **env_build(const struct env_of *e, struct arena *arena);

/* Set the pid of the process that has this environment. */
void env_set_pid(char **env, pid_t pid);

#endif
