/*
 * env.h - the environment of a job's processes
 *
 * Pure.  One table gives each AISCHED_* variable with its SLURM_* twin; the
 * man page is held against it.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_ENV_H
#define AISCHEDD_RUN_SHEPHERD_ENV_H

#include <stdint.h>
#include <sys/types.h>

#include "aischedd/run/shepherd/order.h"

/* Holds the pid of the task: tells its processes from those of others. */
#define TASK_PID_VAR  "AISCHED_TASK_PID"
#define TASK_PID_TWIN "SLURM_TASK_PID"
/* Their value until env_set_pid(). */
#define TASK_PID_ROOM "0000000000"

/* One process of the job. */
struct env_of {
	const struct order *order;
	uint32_t slot;      /* its task of the order */
	uint32_t rank;      /* both are 0 for a script that runs once */
	int64_t start;      /* unix seconds */
	const char *tmpdir; /* its private one */
	const char *run_id;
	const char *home, *shell; /* of the user; used where env has none */
};

/* --- vars.c --- */

/* The processes of a job: its tasks, or one that has all of them. */
uint32_t env_nprocs(const struct run_job *job);

/* The devices of one process, ascending, as "0,2". */
void env_gpus(const struct env_of *e, struct buf *out);

/* Every name that the table can set, NULL-terminated. */
const char *const *env_names(void);

/* Each variable that is set for this process. */
typedef void env_set_fn(void *arg, const char *name, const char *value);
void env_each(const struct env_of *e, env_set_fn *fn, void *arg);

/* --- env.c --- */

/*
 * What the submitter sent, without what is ours to say, and ours; a
 * NULL-terminated array in the arena.
 */
char **env_build(const struct env_of *e, struct arena *arena);

/* Fills in the process that has this environment. */
void env_set_pid(char **env, pid_t pid);

#endif
