/*
 * srun_files.h - what srun opens itself, and what is left to the tasks
 */
#ifndef SLURM_SRUN_FILES_H
#define SLURM_SRUN_FILES_H

#include "slurm/srun.h"

struct srun_files {
	int fd[3];
	bool copies[3];     /* between the descriptor and pipes of the tasks */
	struct buf name[3]; /* for the tasks to open; empty: the descriptor */
	int64_t task[3];
};

/* Free ret with srun_files_free(), also after a failure. */
int srun_files_open(const struct srun *srun, const struct srun_job *job,
                    struct srun_files *ret, struct err *err);

/* The descriptors stay open. */
void srun_files_free(struct srun_files *files);

#endif
