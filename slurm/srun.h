/*
 * srun.h - the request for a step, and where it runs
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
	int64_t immediate_s; /* of a job of its own: sbatch.h */
	bool label, exact, overlap, overcommit, append, pty, quiet, verbose;
	bool kill_on_bad_exit, multi_prog;
	/* struct srun_asked: options for a job of its own */
	struct arena_list asked;
};

/* An option that srun shares with sbatch. */
struct srun_asked {
	const struct opt *opt; /* in sbatch's table */
	const char *value;     /* NULL: none */
};

/* Where the step runs. */
struct srun_job {
	int64_t id;
	char *node, *socket;
	/* Connects as to a shepherd (libcommon/step_msg.h). Returns a
	 * descriptor, or -1. NULL: connect to the shepherd at the socket. */
	int (*connect)(const struct srun *srun, struct err *err);
	/* The node names that messages about tasks mention; NULL: all tasks are
	 * on node. */
	const char *const *nodes;
	int64_t nnodes;
	/* Tasks are elsewhere and cannot get srun's descriptors. */
	bool remote;
};

/* How a program finds and makes jobs. */
struct srun_way {
	/* Find the job that srun names, and fill in what the options leave
	 * open. Prints why it failed, and returns -1. */
	int (*find)(struct srun *srun, struct srun_job *ret);
	/* Run the step in a job of its own. Returns the exit status. */
	int (*alone)(struct srun *srun, char *const *argv);
};

/* Run srun as a program. Returns its exit status. */
int srun_run(const struct srun_way *way, int argc, char **argv);

/* Returns our environment as --export selects it, in the arena; ends with NULL.
 */
char **srun_env(const char *export_env, struct arena *arena);

#endif
