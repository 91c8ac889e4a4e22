/* history.c - list jobs of the history, read over a database connection of
 * its own */
#include <stdlib.h>

#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/load.h"
#include "aischedd/store/past.h"
#include "aischedd/store/row.h"

static char *sql_of(const struct history_query *q)
{
	struct buf sql = { 0 };

	buf_printf(&sql, "SELECT %s FROM job WHERE %s", row_columns(),
	           q->ended_only ? "state >= 5" : "state >= 0");
	if (q->id)
		buf_printf(&sql, " AND %s",
		           q->task == NO_TASK ? SQL_OF_JOB : SQL_OF_TASK);
	if (q->cron)
		buf_puts(&sql, " AND cron_id = ?9 AND cron_id > 0");
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
	buf_puts(&sql, " LIMIT ?8");
	return buf_take(&sql);
}

struct jobs_reader {
	past_job_fn *fn;
	void *arg;
};

static int take_row(const struct stmt *s, void *ctx, struct err *err)
{
	struct jobs_reader *r = ctx;
	struct past_job past;

	if (row_read(s, &past, err) < 0)
		return err_wrap(err, "job %lld",
		                (long long)sqlite3_column_int64(s->s, 0));
	if (row_tasks(s))
		idset_parse(&past.job.tasks, NULL, row_tasks(s), NULL);
	if (row_texts(s).ledger)
		past.job.ledger = ledger_parse(row_texts(s).ledger, NULL);
	r->fn(&past, r->arg);
	ledger_free(past.job.ledger);
	idset_free(&past.job.tasks);
	return 0;
}

int store_history(const char *path, const struct history_query *query,
                  past_job_fn *fn, void *arg, struct err *err)
{
	struct jobs_reader r = { fn, arg };

	return past_read(path, sql_of(query), query, take_row, &r, arg, err);
}
