/*
 * sacct.h - what the files of sacct share: the columns, and their rows
 *
 * A row is one of `jobs`, or a copy of it that stands for its batch script
 * and has a key "batch".
 */
#ifndef SLURM_SACCT_H
#define SLURM_SACCT_H

#include "slurm/format.h"

struct acct_field {
	struct slurm_field is;
	int width;
};

/* In the order of their names; ends with a field without a name. */
extern const struct acct_field acct_fields[];

/* Fields that the rows must have for all of them. */
extern const char acct_needs[];

#endif
