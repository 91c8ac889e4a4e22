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

/* Add names, separated by blanks, to a list, without duplicates. */
void rows_add_fields(json_t *fields, const char *names);

/*
 * Ask the daemon for a listing. req is the request with its filters; fields are
 * the keys that each row shall have, NULL if the listing has no choice of
 * fields. Sets *ret_rows to an array of objects and, if ret_answer is not NULL,
 * *ret_answer to the final answer; the caller owns both. Takes req. Fails as
 * client_call() does.
 */
int rows_read(struct client *client, json_t *req, json_t *fields,
              json_t **ret_rows, json_t **ret_answer, struct err *err);

/* Returns the text of a key, "" if there is none. */
const char *row_text(const json_t *row, const char *key);
/* Returns the number of a key, without its fraction; ROW_NONE if there is
 * none. */
int64_t row_int(const json_t *row, const char *key);
double row_real(const json_t *row, const char *key); /* 0 if there is none */

#endif
