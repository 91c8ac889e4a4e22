/*
 * env.h - the environment of a job's processes
 *
 * Pure. One table has each AISCHED_* variable with its SLURM_* twin; a test
 * compares the man page with it.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_ENV_H
#define AISCHEDD_RUN_SHEPHERD_ENV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "aischedd/run/shepherd/order.h"

/* Has the pid of the task, and so distinguishes its processes from others. */
#define TASK_PID_VAR  "AISCHED_TASK_PID"
#define TASK_PID_TWIN "SLURM_TASK_PID"
/* The value until env_set_pid() sets it. */
#define TASK_PID_ROOM "0000000000"

/* Identifies processes that belong to a step but left its sessions. */
#define STEP_ID_VAR "AISCHED_STEP_ID"

/* The step that a process belongs to; libcommon/step_msg.h. */
struct env_step {
	uint32_t id, tasks;
	int64_t cpus;  /* of each task; 0: as the job says */
	bool has_gpus; /* it asked for GPUs; else it sees those of the job */
	uint64_t gpus; /* GPUs that this process sees */
	mode_t umask;
	const char *job_name; /* NULL: the job's */
	const char *env;      /* of srun's caller, as in run_job */
	size_t env_len;
};

/* One process of the job. */
struct env_of {
	const struct order *order;
	uint32_t slot;        /* index of its task in the order */
	uint32_t rank;        /* both 0 for a script that runs once */
	int64_t start;        /* unix seconds */
	const char *tmpdir;   /* its private folder */
	const char *end_file; /* the file that says why the job is ended */
	const char *run_id;
	const char *home, *shell;    /* of the user; used if env has none */
	const struct env_step *step; /* NULL: the job's own process */
	/* A step that is like the job's own process: its variables come before
	 * those of the submitter. */
	const struct env_step *like;
};

/*
 * Returns the submitter's environment, without variables that only we set, and
 * then ours; a NULL-terminated array in the arena. For a step it is the
 * environment of srun's caller, with ours in place of variables of these names.
 */
char **env_build(const struct env_of *e, struct arena *arena);

/* Set the pid of the process that has this environment. */
void env_set_pid(char **env, pid_t pid);

#endif
