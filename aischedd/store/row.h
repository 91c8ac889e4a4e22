/*
 * row.h - write and read a job record as a database row
 */
#ifndef AISCHEDD_STORE_ROW_H
#define AISCHEDD_STORE_ROW_H

#include "aischedd/store/db.h"
#include "aischedd/store/store.h"

/*
 * SQL conditions on table job. ?1 is the id of a job or array, ?2 a task of the
 * array. SQL_OF_TASK also matches all records of unstarted tasks (array_task is
 * null) of the array: the caller checks whether the task is among them.
 * "array_id > 0" is the condition of the index job_array: without it a query
 * would read the whole history.
 */
#define SQL_OF_ARRAY "array_id = ?1 AND array_id > 0"
#define SQL_OF_JOB   "(id = ?1 OR (" SQL_OF_ARRAY "))"
#define SQL_OF_TASK                                                            \
	"id IN (SELECT id FROM job WHERE " SQL_OF_ARRAY " AND array_task = ?2" \
	" UNION ALL SELECT id FROM job WHERE " SQL_OF_ARRAY                    \
	" AND array_task IS NULL)"

/* Returns the names of all columns, "id,array_id,...", in the order in which
 * row_bind() and row_read() use them. */
const char *row_columns(void);
/* Returns "?,?,...", one mark for each column. */
const char *row_marks(void);
void row_bind(struct stmt *s, const struct state *state, const struct job *job,
              struct buf *scratch);

/* Read a row into *ret, whose strings and request are borrowed until the
 * statement's next step. Fails with EINVAL if a number is out of its bounds,
 * user or queue are null, or there is no valid request. */
int row_read(const struct stmt *s, struct past_job *ret, struct err *err);

/* Returns the columns that state_load_job() parses from text; borrowed until
 * the statement's next step. */
struct job_texts row_texts(const struct stmt *s);
const char *row_tasks(const struct stmt *s);

#endif
