/*
 * columns.h - tables as sacct, sstat, sshare and sacctmgr print them
 */
#ifndef SLURM_ACCT_COLUMNS_H
#define SLURM_ACCT_COLUMNS_H

#include "slurm/format.h"

struct acct_column {
	const struct slurm_field *field;
	int width; /* negative: aligned left */
};

struct acct_columns {
	const struct slurm_field *table; /* ends with a field without header */
	/* bits of slurm_field.of: use fields with one of them */
	unsigned of;
	const char *delimiter; /* NULL: | */
	/* parsable: a delimiter after each column; parsable2: only between
	 * columns */
	bool parsable, parsable2;
	bool no_header, no_convert;
	char unit; /* unit of sizes, as in struct style */
	struct acct_column *column;
	size_t n, cap;
};

/* Add columns from "name,name%20,name%-20", where names may be in upper or
 * lower case. Reports an unknown name on stderr, and returns -1. */
int columns_make(struct acct_columns *columns, const char *format);
void columns_free(struct acct_columns *columns);

void columns_header(const struct acct_columns *columns);
void columns_row(const struct acct_columns *columns, const json_t *row);

/* Print the names of all fields with a bit of `of`. */
void columns_help(const struct slurm_field *table, unsigned of);

#endif
