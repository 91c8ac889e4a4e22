/* attempts.c - list ended attempts, read over a database connection of
 * its own */
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/store/past.h"
#include "aischedd/store/row.h"

static char *sql_of(const struct history_query *q)
{
	struct buf sql = { 0 };

	buf_puts(
	    &sql,
	    "SELECT a.job, attempt,"
	    " (SELECT array_id FROM job WHERE id = a.job),"
	    " (SELECT array_task FROM job WHERE id = a.job), uid,"
	    " nullif(user, ''), nullif(queue, ''), nullif(account, ''),"
	    " nullif(pool, ''), nullif(class, ''), nullif(gpu_type, ''),"
	    " nodes, tasks, ended_ms - held_ms, ended_ms, held_ms - idle_ms,"
	    " state, reason, evict, evict_by, exit_code, signal, held_cpu_ms,"
	    " held_mem_mib_s, held_gpu_ms, cpu_ms, peak_mem_kib, gpu_busy_ms,"
	    " gpu_known_ms, gpu_mem_mib, gpu_mem_total_mib, pieces FROM attempt a"
	    " LEFT JOIN holder h ON h.id = holder WHERE 1");
	if (q->id)
		buf_puts(&sql, q->task == NO_TASK
		                   ? " AND a.job IN (SELECT id FROM job"
		                     " WHERE " SQL_OF_JOB ")"
		                   : " AND a.job IN (SELECT id FROM job"
		                     " WHERE " SQL_OF_ARRAY
		                     " AND array_task = ?2)");
	if (q->since != NO_TIME)
		buf_puts(&sql, " AND ended_ms >= 1000 * ?3");
	if (q->until != NO_TIME)
		buf_puts(&sql, " AND ended_ms < 1000 * (?4 + 1)");
	if (q->after != NO_TIME)
		buf_puts(&sql,
		         " AND (ended_ms, a.job, attempt) > (?5, ?6, ?7)");
	buf_puts(&sql, " ORDER BY ended_ms, a.job, attempt LIMIT ?8");
	return buf_take(&sql);
}

/* Returns the cost of the pieces in a column; SPEC_UNSET if it is null. */
static int64_t cost_of(const struct stmt *s, int column)
{
	const unsigned char *at = sqlite3_column_blob(s->s, column);
	size_t left = (size_t)sqlite3_column_bytes(s->s, column);
	struct ledger_piece piece;
	__int128 sum = 0;

	if (db_is_null(s, column))
		return SPEC_UNSET;
	while (ledger_piece_unpack(&at, &left, &piece))
		ledger_piece_cost(&piece, &sum);
	return ledger_cost_of(sum);
}

/* Read a row into *ret: the columns in the order of the query; texts
 * are borrowed. */
static void row_of(const struct stmt *s, struct past_attempt *ret)
{
	int c = 0;

#define NUMBER(none) db_col_i64(s, c++, none)
#define TEXT()       db_col_text(s, c++)
	ret->job = (uint64_t)NUMBER(0);
	ret->attempt = NUMBER(0);
	ret->array = (uint64_t)NUMBER(0);
	ret->array_task = (uint32_t)NUMBER(NO_TASK);
	ret->uid = NUMBER(0);
	ret->user = TEXT();
	ret->queue = TEXT();
	ret->account = TEXT();
	ret->pool = TEXT();
	ret->class = TEXT();
	ret->gpu_type = TEXT();
	ret->nodes = TEXT();
	ret->tasks = NUMBER(SPEC_UNSET);
	ret->began_ms = NUMBER(SPEC_UNSET);
	ret->ended_ms = NUMBER(SPEC_UNSET);
	ret->ran_ms = NUMBER(SPEC_UNSET);
	ret->state = NUMBER(0);
	ret->why = NUMBER(0);
	ret->evict = NUMBER(0);
	ret->evict_by = NUMBER(SPEC_UNSET);
	ret->exit_code = NUMBER(SPEC_UNSET);
	ret->signal = NUMBER(SPEC_UNSET);
	ret->held[RES_CPU] = NUMBER(SPEC_UNSET);
	ret->held[RES_MEM] = NUMBER(SPEC_UNSET);
	ret->held[RES_GPU] = NUMBER(SPEC_UNSET);
	ret->cpu_ms = NUMBER(SPEC_UNSET);
	ret->peak_kib = NUMBER(SPEC_UNSET);
	ret->gpu.busy_ms = NUMBER(0);
	ret->gpu.known_ms = NUMBER(0);
	ret->gpu.mem_mib = NUMBER(0);
	ret->gpu.mem_total_mib = NUMBER(0);
	ret->cost = cost_of(s, c);
#undef NUMBER
#undef TEXT
}

/* Refuse a row without a user or queue, or with an invalid state or reason:
 * other code prints these texts and uses the numbers as indexes. */
static int check(const struct past_attempt *row, struct err *err)
{
	if (row->user && row->queue && row->state >= 0 &&
	    row->state < JOB_NSTATES && row->why >= 0 &&
	    row->why < WHY_NREASONS)
		return 0;
	return err_set(err, EINVAL,
	               "attempt %lld of job %llu: the database has no user, "
	               "queue, state or reason of it",
	               (long long)row->attempt, (unsigned long long)row->job);
}

struct attempts_reader {
	past_attempt_fn *fn;
	void *arg;
};

static int take_row(const struct stmt *s, void *ctx, struct err *err)
{
	struct attempts_reader *r = ctx;
	struct past_attempt row;

	row_of(s, &row);
	if (check(&row, err) < 0)
		return -1;
	r->fn(&row, r->arg);
	return 0;
}

int store_attempts(const char *path, const struct history_query *query,
                   past_attempt_fn *fn, void *arg, struct err *err)
{
	struct attempts_reader r = { fn, arg };

	return past_read(path, sql_of(query), query, take_row, &r, arg, err);
}
