/*
 * fields.h - the columns of jobs, in squeue and sacct
 *
 * A row is one of the daemon's listing `jobs`. For the batch script of a job,
 * sacct prints a copy of the job's row that has the key "batch".
 */
#ifndef SLURM_FIELDS_H
#define SLURM_FIELDS_H

#include "slurm/format.h"

enum { OF_SQUEUE = 1, OF_SACCT = 2 };

/* All fields, those of sacct sorted by name. The table ends with a field
 * without a header. */
extern const struct slurm_field job_fields[];

#endif
