/*
 * srun_files.h - which files srun opens, and which each task opens itself
 */
#ifndef SLURM_SRUN_FILES_H
#define SLURM_SRUN_FILES_H

#include "slurm/srun.h"

struct srun_files {
	int fd[3];
	bool copies[3];     /* srun copies between fd and pipes of the tasks */
	struct buf name[3]; /* the tasks open this file; empty: they use fd */
	int64_t task[3];
};

/* Open the files of -i, -o and -e. Free ret with srun_files_free(), also after
 * a failure. */
int srun_files_open(const struct srun *srun, const struct srun_job *job,
                    struct srun_files *ret, struct err *err);

/* Free the names; the descriptors stay open. */
void srun_files_free(struct srun_files *files);

#endif
