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

/* The pid of the task, in the environment of all its processes: tells them from
 * processes of other tasks. */
#define TASK_PID_VAR  "AISCHED_TASK_PID"
#define TASK_PID_TWIN "SLURM_TASK_PID"
/* Placeholder of that value until env_set_pid() sets it. */
#define TASK_PID_ROOM "0000000000"

/* The step's number; tells which processes belong to a step, even if they have
 * begun a session of their own. */
#define STEP_ID_VAR "AISCHED_STEP_ID"

/* The step that a process belongs to; libcommon/step_msg.h. */
struct env_step {
	uint32_t id, tasks;
	int64_t cpus;  /* of each task; 0: as the job says */
	bool has_gpus; /* the step asked for GPUs; else it sees all of the job's
	                */
	uint64_t gpus; /* GPUs that this process sees */
	mode_t umask;
	const char *job_name; /* NULL: the job's own name */
	const char *env;      /* srun's environment, as in struct run_job */
	size_t env_len;
};

/* One process of the job. */
struct env_of {
	const struct order *order;
	uint32_t slot;        /* index of its task in the order */
	uint32_t rank;        /* slot and rank: 0 if the script runs once */
	int64_t start;        /* unix seconds */
	const char *tmpdir;   /* the job's private temporary folder */
	const char *end_file; /* the file that says why the job is ended */
	const char *run_id;
	const char *home, *shell;    /* of the user; used if env has none */
	const struct env_step *step; /* NULL: the job's own process */
	/* A step that runs as if it were a task (STEP_AS_TASK): srun's
	 * variables take precedence over those of the submitter. NULL: none. */
	const struct env_step *like;
};

/*
 * Returns the environment as a NULL-terminated array in the arena: the
 * submitter's variables, except those that only we set, then ours. For a step:
 * the variables of srun's caller, overridden by ours.
 */
char **env_build(const struct env_of *e, struct arena *arena);

/* Replace TASK_PID_ROOM in this environment with the pid. */
void env_set_pid(char **env, pid_t pid);

#endif
