/*
 * rows.h - rows of the daemon's listings, and the values in them
 */
#ifndef SLURM_ROWS_H
#define SLURM_ROWS_H

#include <jansson.h>
#include <stdint.h>

#include "libcommon/client/client.h"
#include "libcommon/err.h"

#define ROW_NONE INT64_MIN

/* Add names, separated by blanks, to a list, each only once. */
void rows_add_fields(json_t *fields, const char *names);

/*
 * Ask for a listing. req names it and its filters, fields what each row has;
 * NULL if its rows are always the same. Owns: *ret_rows is an array of objects;
 * *ret_answer, if wanted, is the last answer. Takes req. Fails as client_call()
 * does.
 */
int rows_read(struct client *client, json_t *req, json_t *fields,
              json_t **ret_rows, json_t **ret_answer, struct err *err);

/* "" if there is none. */
const char *row_text(const json_t *row, const char *key);
/* Rounds fractions down. Returns ROW_NONE if there is none. */
int64_t row_int(const json_t *row, const char *key);
double row_real(const json_t *row, const char *key); /* 0 if there is none */

#endif
