/* past.c - run a query of the history, over a database connection of its own */
#include "aischedd/store/past.h"

#include <stdlib.h>

#include "libcommon/mem.h"

static int read_rows(struct db *db, const struct history_query *q,
                     past_row_fn *fn, void *ctx, struct err *err)
{
	struct stmt s = db_use(db, 0);
	const int64_t values[] = { (int64_t)q->id,   q->task,
		                   q->since,         q->until,
		                   q->after,         (int64_t)q->after_id,
		                   q->after_attempt, (int64_t)q->limit,
		                   (int64_t)q->cron };
	int more;

	for (int i = 0; i < (int)ARRAY_SIZE(values); i++)
		sqlite3_bind_int64(s.s, i + 1, values[i]);
	while ((more = db_step(db, &s, err)) > 0)
		if (fn(&s, ctx, err) < 0)
			return -1;
	return more;
}

int past_read(const char *path, char *sql, const struct history_query *query,
              past_row_fn *fn, void *ctx, void *arg, struct err *err)
{
	const char *text[] = { sql };
	struct db db;
	int result = db_open(&db, path, true, text, 1, err);

	if (result == 0) {
		do
			result = read_rows(&db, query, fn, ctx, err);
		while (result == 0 && query->next && query->next(arg));
		db_close(&db);
	}
	free(sql);
	return result;
}
