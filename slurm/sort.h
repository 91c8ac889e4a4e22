/*
 * sort.h - rows in the order of -S: letters of fields, each after '-' or '+'
 */
#ifndef SLURM_SORT_H
#define SLURM_SORT_H

#include <jansson.h>

#include "slurm/format.h"

/* Add to the list `fields` the keys of rows by which sort_rows() sorts. */
void sort_needs(const struct slurm_field *table, const char *order, char last,
                json_t *fields);

/* Returns the first letter of an order that the table lacks or whose column
 * never has a value; 0 if there is none. */
char sort_unknown(const struct slurm_field *table, const char *order);

/*
 * Sort by the fields that `order` names, the most important first. Equal rows
 * are sorted by the letter `last`, which must be in the table. Unknown letters
 * are ignored. Returns an array, which the caller frees, of pointers into rows.
 */
const json_t **sort_rows(const struct slurm_field *table, const char *order,
                         char last, const json_t *rows);

#endif
