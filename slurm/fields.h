/*
 * fields.h - the columns of jobs, in squeue and sacct
 *
 * A row is one of `jobs`; sacct also has copies that stand for the batch
 * script of a job and have a key "batch".
 */
#ifndef SLURM_FIELDS_H
#define SLURM_FIELDS_H

#include "slurm/format.h"

enum { OF_SQUEUE = 1, OF_SACCT = 2 };

/* All fields; those of sacct are sorted by name. Ends with one without a
 * header. */
extern const struct slurm_field job_fields[];

#endif
