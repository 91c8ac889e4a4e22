/*
 * row.h - a job record as a row: one table of columns
 */
#ifndef AISCHEDD_STORE_ROW_H
#define AISCHEDD_STORE_ROW_H

#include "aischedd/store/db.h"
#include "aischedd/store/store.h"

/*
 * Conditions: the rows of array ?1; of job or array ?1; of its task ?2 and of
 * those of its parts that never started. "> 0" is the condition of the index
 * job_array: a query without it reads the whole history.
 */
#define SQL_OF_ARRAY "array_id = ?1 AND array_id > 0"
#define SQL_OF_JOB   "(id = ?1 OR (" SQL_OF_ARRAY "))"
#define SQL_OF_TASK                                                            \
	"id IN (SELECT id FROM job WHERE " SQL_OF_ARRAY " AND array_task = ?2" \
	" UNION ALL SELECT id FROM job WHERE " SQL_OF_ARRAY                    \
	" AND array_task IS NULL)"

/* "id,array_id,...": all columns, in the order of the two calls below. */
const char *row_columns(void);
/* "?,?,...": one for each column. */
const char *row_marks(void);
void row_bind(struct stmt *s, const struct state *state, const struct job *job,
              struct buf *scratch);

/* Read a row; strings and the request are borrowed until the next step. Fails
 * with EINVAL if there is no valid request. */
int row_read(const struct stmt *s, struct past_job *ret, struct err *err);

/* The columns that are texts. */
struct job_texts row_texts(const struct stmt *s);
const char *row_tasks(const struct stmt *s);

#endif
