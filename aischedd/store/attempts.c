/* attempts.c - list ended attempts, read over a database connection of
 * its own */
#include "aischedd/store/past.h"
#include "aischedd/store/row.h"

static char *sql_of(const struct history_query *q)
{
	struct buf sql = { 0 };

	buf_puts(&sql,
	         "SELECT a.job, attempt, array_id, array_task, uid, u.text,"
	         " q.text, c.text, p.text, k.text, g.text, nodes, tasks,"
	         " began_ms, ended_ms, ran_ms, state, reason, evict, evict_by,"
	         " exit_code, signal, held_cpu_ms, held_mem_mib_s, held_gpu_ms,"
	         " cpu_ms, peak_mem_kib, gpu_busy_ms, gpu_known_ms,"
	         " gpu_mem_mib, gpu_mem_total_mib, cost FROM attempt a"
	         " LEFT JOIN name u ON u.id = user"
	         " LEFT JOIN name q ON q.id = queue"
	         " LEFT JOIN name c ON c.id = account"
	         " LEFT JOIN name p ON p.id = pool"
	         " LEFT JOIN name k ON k.id = class"
	         " LEFT JOIN name g ON g.id = gpu_type WHERE 1");
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
	ret->cost = NUMBER(SPEC_UNSET);
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

	return past_read(path, sql_of(query), query, take_row, &r, err);
}
