/*
 * srun_programs.h - --multi-prog: a file that says which program each task runs
 *
 * Lines are "TASKS PROGRAM [ARG]...", where TASKS is "0", "1-3,7" or "*", which
 * means the tasks that no other line names. %t becomes the number of the task,
 * %o its position among the tasks of its line.
 */
#ifndef SLURM_SRUN_PROGRAMS_H
#define SLURM_SRUN_PROGRAMS_H

#include <stdint.h>

#include "libcommon/err.h"
#include "libcommon/mem.h"

/*
 * Returns the command that all tasks run, in the arena; the array ends with
 * NULL. It is a script of sh that starts the program of the task numbered
 * SLURM_PROCID. Fails with Slurm's message. Where Slurm prints several
 * messages, the last is in err and the others are printed.
 */
char **srun_programs(const char *file, int64_t tasks, struct arena *arena,
                     struct err *err);

#endif
