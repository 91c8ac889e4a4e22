/*
 * sort.h - rows in the order of -S: letters of fields, each after '-' or '+'
 */
#ifndef SLURM_SORT_H
#define SLURM_SORT_H

#include <jansson.h>

#include "slurm/format.h"

/* Add what the order needs of rows to a list of fields. last: see sort_rows().
 */
void sort_needs(const struct slurm_field *table, const char *order, char last,
                json_t *fields);

/*
 * Sort by the values that the fields of the letters are made of; equal rows go
 * by the letter last, which the table has. Letters that it lacks count for
 * nothing. Owns: the caller frees the array, the rows are borrowed.
 */
const json_t **sort_rows(const struct slurm_field *table, const char *order,
                         char last, const json_t *rows);

#endif
