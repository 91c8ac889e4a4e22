/*
 * srun_opts.h - the options of srun
 */
#ifndef SLURM_SRUN_OPTS_H
#define SLURM_SRUN_OPTS_H

#include "slurm/srun.h"

extern const struct command_line srun_line;

void srun_options(struct srun *srun, int argc, char **argv, int *ret_first);

#endif
