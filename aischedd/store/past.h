/*
 * past.h - run a query of the history, over a database connection of its own
 *
 * Parameters of the SQL stand for members of struct history_query: ?1 id, ?2
 * task, ?3 since, ?4 until, ?5 after, ?6 after_id, ?7 after_attempt, ?8 limit,
 * ?9 cron.
 */
#ifndef AISCHEDD_STORE_PAST_H
#define AISCHEDD_STORE_PAST_H

#include "aischedd/store/db.h"
#include "aischedd/store/store.h"

/* Handles one row. Fails with EINVAL if it has values that aischedd does not
 * write, which ends the query. */
typedef int past_row_fn(const struct stmt *s, void *ctx, struct err *err);

/* Run the query `sql`, which this function frees, and call fn for each row.
 * arg: for query->next. Thread safe. */
int past_read(const char *path, char *sql, const struct history_query *query,
              past_row_fn *fn, void *ctx, void *arg, struct err *err);

#endif
