/*
 * srun_programs.h - --multi-prog: a file that says which program each task runs
 *
 * Lines are "TASKS PROGRAM [ARG]...", where TASKS is "0", "1-3,7" or "*", which
 * means the tasks without a line of their own. %t becomes the number of the
 * task, %o its place among the tasks of its line.
 */
#ifndef SLURM_SRUN_PROGRAMS_H
#define SLURM_SRUN_PROGRAMS_H

#include <stdint.h>

#include "libcommon/err.h"
#include "libcommon/mem.h"

/*
 * Returns a command for all tasks, in the arena; ends with NULL. It is a script
 * of sh, which runs the program that its SLURM_PROCID has in the file. Fails in
 * Slurm's words, after printing those that stand before them.
 */
char **srun_programs(const char *file, int64_t tasks, struct arena *arena,
                     struct err *err);

#endif
