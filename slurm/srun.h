/*
 * srun.h - what a step is asked for, and where it runs
 */
#ifndef SLURM_SRUN_H
#define SLURM_SRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"
#include "libcommon/step_msg.h"
#include "slurm/command.h"

struct srun {
	struct arena *arena;
	const char *job; /* id of the job to run in; NULL: none */
	const char *name, *workdir, *node, *export_env;
	const char *file[3]; /* -i -o -e */
	int64_t tasks, nodes, cpus, gpus, gpus_per_task, mem_mib, mem_cpu_mib;
	int64_t limit_s, tasks_per_node, wait_s;
	bool label, exact, overlap, overcommit, append, pty, quiet, verbose;
	bool kill_on_bad_exit, outside; /* outside: an option for new jobs */
};

/* Where the step runs. */
struct srun_job {
	int64_t id;
	char *node, *socket;
};

/* Returns our environment as --export leaves it; ends with NULL, in the arena.
 */
char **srun_env(const char *export_env, struct arena *arena);

#endif
