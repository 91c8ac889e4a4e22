/*
 * srun.h - what the files of srun share: options, the job and how to find it
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
	int64_t immediate_s; /* --immediate outside of a job, as in sbatch.h */
	bool label, exact, overlap, overcommit, append, pty, quiet, verbose;
	bool kill_on_bad_exit, multi_prog;
	/* of struct srun_asked: options for the job that srun makes outside of
	 * a job */
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
	/* Returns a connection that speaks the shepherd's protocol
	 * (libcommon/step_msg.h), or -1. NULL: connect to the shepherd at
	 * socket. */
	int (*connect)(const struct srun *srun, struct err *err);
	/* The node names to print in messages about tasks; NULL: all tasks are
	 * on node. */
	const char *const *nodes;
	int64_t nnodes;
	/* The tasks run on other machines or in other pods, so srun cannot pass
	 * them its descriptors. */
	bool remote;
	/* Runs the command otherwise than as a step, and returns the exit
	 * status. NULL: run a step. */
	int (*run)(const struct srun *srun, char *const *argv);
};

/* How srun finds and makes jobs. srun on the daemon's machine and srun in pods
 * each have one of these. */
struct srun_way {
	/* Find the job that the options name, and fill in what they leave open.
	 * Returns -1 after printing why it failed. */
	int (*find)(struct srun *srun, struct srun_job *ret);
	/* Submit a new job and run the step in it. Returns the exit status. */
	int (*alone)(struct srun *srun, char *const *argv);
};

/* The main function of srun. Returns its exit status. */
int srun_run(const struct srun_way *way, int argc, char **argv);

/* Returns the variables that --export selects from our environment, in the
 * arena; the array ends with NULL. */
char **srun_env(const char *export_env, struct arena *arena);

#endif
