/* row.c - write and read a job record as a database row: one table of columns
 */
#include <string.h>

#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/load.h"
#include "aischedd/state/placement.h"
#include "aischedd/store/row.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

enum kind {
	I64,
	U32,
	I32,
	U8,
	BOOL,
	TIME, /* int64_t; NO_TIME is stored as null */
	TASK, /* uint32_t; NO_TASK is stored as null */
	MAYBE /* int64_t; SPEC_UNSET is stored as null */
};

/* The largest count, sum or time that a row may have: two such numbers can be
 * added without an overflow. */
#define MOST ((int64_t)1 << 60)

/*
 * The numbers of struct job that are columns, with the least and the greatest
 * valid value. In a row they are followed by the texts (enum text_column) and
 * then by the packed request as one blob. If each field of the request had a
 * column, most of them null, reading these would be half of the work of loading
 * a million jobs.
 */
static const struct job_column {
	const char *name;
	enum kind kind;
	size_t offset;
	int64_t least, most;
	bool of_runs; /* the offset is one in struct job_runs */
} columns[] = {
#define C(kind, field, name, least, most)                                   \
	{                                                                   \
		name, kind, offsetof(struct job, field), least, most, false \
	}
#define R(kind, field, name, least, most)                                  \
	{                                                                  \
		name, kind, offsetof(struct job_runs, field), least, most, \
		    true                                                   \
	}
#define TIME_COLUMN(field, name)  C(TIME, field, name, 0, MOST)
#define COUNT_COLUMN(field, name) C(U32, field, name, 0, UINT32_MAX)
#define SUM_COLUMN(field, name)   C(I64, field, name, 0, MOST)
#define FLAG_COLUMN(field, name)  C(BOOL, field, name, 0, 1)
	C(I64, id, "id", 1, MOST),
	SUM_COLUMN(array, "array_id"),
	C(TASK, task, "array_task", 0, LIMIT_ARRAY - 1),
	COUNT_COLUMN(uid, "uid"),
	COUNT_COLUMN(gid, "gid"),
	C(U8, state, "state", 0, JOB_NSTATES - 1),
	C(U8, hold, "hold", 0, HOLD_ADMIN),
	C(U8, cause, "cause", 0, CAUSE_RECALL),
	C(U8, why, "reason", 0, WHY_NREASONS - 1),
	FLAG_COLUMN(wants_resume, "wants_resume"),
	FLAG_COLUMN(signalled, "signalled"),
	COUNT_COLUMN(attempt, "attempt"),
	R(U32, restarts, "restarts", 0, UINT32_MAX),
	R(U32, preemptions, "preemptions", 0, UINT32_MAX),
	R(U32, start_fails, "start_fails", 0, UINT32_MAX),
	C(I64, priority, "priority", -MOST, MOST),
	C(I64, time_limit, "time_limit", TIME_UNLIMITED, MAX_SECONDS),
	C(I64, grace, "grace", 0, MAX_SECONDS),
	SUM_COLUMN(mem_default, "mem_default"),
	TIME_COLUMN(submit, "submit_time"),
	TIME_COLUMN(eligible, "eligible_time"),
	TIME_COLUMN(begin, "begin_time"),
	TIME_COLUMN(deadline, "deadline"),
	R(TIME, start, "start_time", 0, MOST),
	R(TIME, end, "end_time", 0, MOST),
	R(TIME, resumed, "resumed_time", 0, MOST),
	R(I64, ran, "ran", 0, MOST),
	R(I64, served, "served", 0, MOST),
	R(I64, charge, "charge", 0, MOST),
	C(U8, evict, "evict", 0, EVICT_NODE_DOWN),
	R(I64, evict_by, "evict_by", 0, MOST),
	R(TIME, retry_at, "retry_time", 0, MOST),
	SUM_COLUMN(script, "script"),
	SUM_COLUMN(env, "env"),
	R(I32, exit_code, "exit_code", -1, INT32_MAX),
	R(I32, signal, "signal", 0, INT32_MAX),
	R(I64, cpu_ms, "cpu_ms", 0, MOST),
	R(MAYBE, peak_mem_kib, "peak_mem_kib", 0, MOST),
	R(U32, replaced, "replaced", 0, UINT32_MAX),
	SUM_COLUMN(cron, "cron_id"),
	R(U32, mailed, "mailed", 0, UINT32_MAX),
#undef C
#undef R
#undef TIME_COLUMN
#undef COUNT_COLUMN
#undef SUM_COLUMN
#undef FLAG_COLUMN
};

enum text_column {
	T_USER,
	T_QUEUE,
	T_TASKS,
	T_TEXT,
	T_PLACE,
	T_DEPEND,
	T_LEAVING,
	T_CLAIM,
	T_EVICTIONS,
	T_LEDGER,
	T_ACTS,
	T_SPACE,
	NTEXTS
};
static const char *const text_names[NTEXTS] = { "user",    "queue", "tasks",
	                                        "text",    "place", "depend",
	                                        "leaving", "claim", "evictions",
	                                        "ledger",  "acts",  "space" };

enum { NUMBERS = ARRAY_SIZE(columns), ASKED = NUMBERS + NTEXTS };

const char *row_columns(void)
{
	static struct buf names; /* filled by the first call, never freed */

	if (names.len)
		return names.data;
	for (size_t i = 0; i < NUMBERS; i++)
		buf_printf(&names, "%s%s", i ? "," : "", columns[i].name);
	for (size_t i = 0; i < NTEXTS; i++)
		buf_printf(&names, ",%s", text_names[i]);
	buf_puts(&names, ",asked");
	return names.data;
}

const char *row_marks(void)
{
	static struct buf marks;

	for (size_t i = (marks.len + 1) / 2; i < ASKED + 1; i++)
		buf_puts(&marks, i ? ",?" : "?");
	return marks.data;
}

/* Returns the value that this column stores as null. In columns that may not be
 * null, no valid number has this value. */
static int64_t null_of(const struct job_column *c)
{
	return c->kind == TIME   ? NO_TIME
	       : c->kind == TASK ? (int64_t)NO_TASK
	                         : SPEC_UNSET;
}

static bool may_be_null(const struct job_column *c)
{
	return c->kind == TIME || c->kind == TASK || c->kind == MAYBE;
}

static int64_t get(const struct job *job, const struct job_column *c)
{
	const char *p = c->of_runs ? (const char *)job->runs + c->offset
	                           : (const char *)job + c->offset;
	int64_t i64;
	uint32_t u32;
	int32_t i32;

	switch (c->kind) {
	case I64:
	case TIME:
	case MAYBE:
		memcpy(&i64, p, 8);
		return i64;
	case U32:
	case TASK:
		memcpy(&u32, p, 4);
		return u32;
	case I32:
		memcpy(&i32, p, 4);
		return i32;
	case U8:
	case BOOL:
		break;
	}
	return *(const unsigned char *)p;
}

static void set(struct past_job *past, const struct job_column *c,
                int64_t value)
{
	char *p = c->of_runs ? (char *)&past->runs + c->offset
	                     : (char *)&past->job + c->offset;
	uint32_t u32 = (uint32_t)value;

	switch (c->kind) {
	case I64:
	case TIME:
	case MAYBE:
		memcpy(p, &value, 8);
		break;
	case U32:
	case TASK:
	case I32:
		memcpy(p, &u32, 4);
		break;
	case U8:
		*(unsigned char *)p = (unsigned char)value;
		break;
	case BOOL:
		*(bool *)p = value != 0;
		break;
	}
}

/* Append the text of a column if it must be formatted first. Appends nothing if
 * the text is empty, or if the job has it as a string already. */
static void put_text(const struct state *state, const struct job *job,
                     enum text_column which, struct buf *out)
{
	switch (which) {
	case T_TASKS:
		if (job->tasks.n)
			idset_format(&job->tasks, out);
		break;
	case T_PLACE:
		if (job->place)
			state_placement_format(state, job->place, true, out);
		break;
	case T_DEPEND:
		if (job->deps)
			dependency_format(job->deps, out);
		break;
	case T_LEAVING:
		if (job->runs->leaving)
			state_placement_format(state, job->runs->leaving, true,
			                       out);
		break;
	case T_CLAIM:
		state_claim_format(state, job->claim, out);
		break;
	case T_EVICTIONS:
		state_evictions_format(job->runs->evictions, out);
		break;
	case T_LEDGER:
		if (job->ledger)
			ledger_format(job->ledger, out);
		break;
	default: /* row_bind() uses the strings of the job */
		break;
	}
}

/* Bind all columns of the job to the statement. scratch gets the formatted
 * texts: the caller must not change it before the statement has run. */
void row_bind(struct stmt *s, const struct state *state, const struct job *job,
              struct buf *scratch)
{
	const char *text[NTEXTS] = { NULL };
	size_t at[NTEXTS] = { 0 };

	for (size_t i = 0; i < NUMBERS; i++) {
		int64_t value = get(job, &columns[i]);

		if (value == null_of(&columns[i]))
			db_null(s, (int)i + 1);
		else
			db_i64(s, (int)i + 1, value);
	}
	buf_clear(scratch);
	for (int i = 0; i < NTEXTS; i++) {
		at[i] = scratch->len;
		put_text(state, job, (enum text_column)i, scratch);
		buf_addc(scratch, '\0');
	}
	for (int i = 0; i < NTEXTS; i++)
		text[i] = scratch->data[at[i]] ? scratch->data + at[i] : NULL;
	if (!job->place)
		text[T_PLACE] = job->runs->last_place;
	text[T_USER] = state_user(state, job->user)->name;
	text[T_QUEUE] = state_conf(state)->queues[job->queue].name;
	text[T_TEXT] = job->text;
	text[T_ACTS] = job->acts;
	text[T_SPACE] = job->runs->space;
	for (int i = 0; i < NTEXTS; i++)
		db_text(s, NUMBERS + i + 1, text[i]);
	db_blob(s, ASKED + 1, job->packed, spec_packed_size(job->packed));
}

struct job_texts row_texts(const struct stmt *s)
{
	return (struct job_texts){
		.depend = db_col_text(s, NUMBERS + T_DEPEND),
		.place = db_col_text(s, NUMBERS + T_PLACE),
		.leaving = db_col_text(s, NUMBERS + T_LEAVING),
		.claim = db_col_text(s, NUMBERS + T_CLAIM),
		.evictions = db_col_text(s, NUMBERS + T_EVICTIONS),
		.ledger = db_col_text(s, NUMBERS + T_LEDGER),
		.space = db_col_text(s, NUMBERS + T_SPACE),
	};
}

const char *row_tasks(const struct stmt *s)
{
	return db_col_text(s, NUMBERS + T_TASKS);
}

static int read_number(const struct stmt *s, size_t i, struct past_job *past,
                       struct err *err)
{
	const struct job_column *c = &columns[i];
	int64_t value = null_of(c);

	if (!(may_be_null(c) && db_is_null(s, (int)i)) &&
	    db_int(s, (int)i, c->least, c->most, &value, err) < 0)
		return -1;
	set(past, c, value);
	return 0;
}

int row_read(const struct stmt *s, struct past_job *ret, struct err *err)
{
	const void *asked = sqlite3_column_blob(s->s, ASKED);
	size_t size = (size_t)sqlite3_column_bytes(s->s, ASKED);

	memset(ret, 0, sizeof(*ret));
	memcpy(&ret->runs, &job_runs_none, sizeof(ret->runs));
	ret->job.runs = &ret->runs;
	for (size_t i = 0; i < NUMBERS; i++)
		if (read_number(s, i, ret, err) < 0)
			return -1;
	if (db_text_of(s, NUMBERS + T_USER, &ret->user, err) < 0 ||
	    db_text_of(s, NUMBERS + T_QUEUE, &ret->queue, err) < 0)
		return -1;
	ret->place = db_col_text(s, NUMBERS + T_PLACE);
	ret->job.text = (char *)(uintptr_t)db_col_text(s, NUMBERS + T_TEXT);
	ret->job.acts = (char *)(uintptr_t)db_col_text(s, NUMBERS + T_ACTS);
	ret->job.packed = (char *)(uintptr_t)asked;
	if (asked && spec_packed_check(asked, size))
		return 0;
	return err_set(err, EINVAL, "column 'asked' has no request");
}
