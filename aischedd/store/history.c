/* history.c - ended jobs, read with a connection of its own */
#include <stdlib.h>

#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/load.h"
#include "aischedd/store/db.h"
#include "aischedd/store/row.h"
#include "aischedd/store/store.h"
#include "libcommon/mem.h"

static char *sql_of(const struct history_query *q)
{
	struct buf sql = { 0 };

	buf_printf(&sql, "SELECT %s FROM job WHERE %s", row_columns(),
	           q->ended_only ? "state >= 5" : "state >= 0");
	if (q->id)
		buf_printf(&sql, " AND %s",
		           q->task == NO_TASK ? SQL_OF_JOB : SQL_OF_TASK);
	if (q->since != NO_TIME)
		buf_puts(&sql, " AND end_time >= ?3");
	if (q->until != NO_TIME)
		buf_puts(&sql, " AND end_time <= ?4");
	if (q->after != NO_TIME)
		buf_printf(&sql, " AND (end_time, id) %c (?5, ?6)",
		           q->newest_first ? '<' : '>');
	if (!q->unordered)
		buf_puts(&sql, q->newest_first
		                   ? " ORDER BY end_time DESC, id DESC"
		                   : " ORDER BY end_time, id");
	buf_puts(&sql, " LIMIT ?7");
	return buf_take(&sql);
}

static int read_rows(struct db *db, const struct history_query *q,
                     past_job_fn *fn, void *arg, struct err *err)
{
	struct stmt s = db_use(db, 0);
	const int64_t values[] = { (int64_t)q->id,   q->task,
		                   q->since,         q->until,
		                   q->after,         (int64_t)q->after_id,
		                   (int64_t)q->limit };
	int more;

	for (int i = 0; i < (int)ARRAY_SIZE(values); i++)
		sqlite3_bind_int64(s.s, i + 1, values[i]);
	while ((more = db_step(db, &s, err)) > 0) {
		struct past_job past;

		if (row_read(&s, &past, err) < 0)
			return err_wrap(
			    err, "job %lld",
			    (long long)sqlite3_column_int64(s.s, 0));
		if (row_tasks(&s))
			idset_parse(&past.job.tasks, NULL, row_tasks(&s), NULL);
		if (row_texts(&s).ledger)
			past.job.ledger =
			    ledger_parse(row_texts(&s).ledger, NULL);
		fn(&past, arg);
		free(past.job.ledger);
		idset_free(&past.job.tasks);
	}
	return more;
}

int store_history(const char *path, const struct history_query *query,
                  past_job_fn *fn, void *arg, struct err *err)
{
	char *sql = sql_of(query);
	const char *text[] = { sql };
	struct db db;
	int result;

	if (db_open(&db, path, true, text, 1, err) < 0) {
		free(sql);
		return -1;
	}
	result = read_rows(&db, query, fn, arg, err);
	db_close(&db);
	free(sql);
	return result;
}
