/*
 * sort.h - rows in the order of -S: letters of fields, each after '-' or '+'
 */
#ifndef SLURM_SORT_H
#define SLURM_SORT_H

#include <jansson.h>

#include "slurm/format.h"

/* Add to a list the fields of rows that the order uses. last: as for
 * sort_rows(). */
void sort_needs(const struct slurm_field *table, const char *order, char last,
                json_t *fields);

/* Returns the first letter of an order that the table lacks; 0: none. */
char sort_unknown(const struct slurm_field *table, const char *order);

/*
 * Sort by the values that make up the fields of the letters; equal rows are
 * sorted by the letter last, which must be in the table. Unknown letters are
 * ignored. The caller frees the array; the rows are borrowed.
 */
const json_t **sort_rows(const struct slurm_field *table, const char *order,
                         char last, const json_t *rows);

#endif
