/*
 * env.h - the environment of a job's processes
 *
 * Pure. One table has each AISCHED_* variable with its SLURM_* twin; a test
 * compares it with the man page.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_ENV_H
#define AISCHEDD_RUN_SHEPHERD_ENV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "aischedd/run/shepherd/order.h"

/* The pid of the task. All processes of the task inherit this variable, which
 * shows to which task a process belongs. */
#define TASK_PID_VAR  "AISCHED_TASK_PID"
#define TASK_PID_TWIN "SLURM_TASK_PID"
/* Stands for the pid until env_set_pid() replaces it. */
#define TASK_PID_ROOM "0000000000"

/* The names of variables with the job's devices besides GPUs begin so. */
#define DEVICE_VAR "AISCHED_DEVICE_"

/* The number of the step. Processes of a step are found by it even if they have
 * begun a session of their own. */
#define STEP_ID_VAR "AISCHED_STEP_ID"

/* The step to which a process belongs; see libcommon/step_msg.h. */
struct env_step {
	uint32_t id, tasks;
	int64_t cpus; /* CPUs of each task; 0: as the job says */
	/* the step asked for GPUs; otherwise it sees all GPUs of the job */
	bool has_gpus;
	uint64_t gpus; /* GPUs that this process sees */
	mode_t umask;
	const char *job_name; /* NULL: the job's own name */
	/* environment of srun, in the form of struct run_job */
	const char *env;
	size_t env_len;
};

/* One process of the job. */
struct env_of {
	const struct order *order;
	uint32_t slot; /* index of the process's task in order->job.task */
	/* rank of the task; slot and rank are 0 if the script runs once */
	uint32_t rank;
	int64_t start;      /* unix seconds */
	const char *tmpdir; /* the job's private temporary folder */
	/* path of the file that will say why the job is ended */
	const char *end_file;
	const char *run_id;
	/* home and shell of the user; used if the environment has none */
	const char *home, *shell;
	/* NULL: the process belongs to the job itself, not to a step */
	const struct env_step *step;
	/* Set instead of `step` for a step that runs as if it were a task of
	 * the job (STEP_AS_TASK): srun's variables take precedence over those
	 * of the submitter. Otherwise NULL. */
	const struct env_step *like;
};

/*
 * Returns the environment as a NULL-terminated array in the arena: the
 * submitter's variables, except those that only we set, then our own. For a
 * step: the variables of srun's environment, overridden by our own.
 */
char **env_build(const struct env_of *e, struct arena *arena);

/* Replace TASK_PID_ROOM in the environment with the pid. */
void env_set_pid(char **env, pid_t pid);

#endif
