/* row_job.c - a job record as a row: one table of columns */
#include <string.h>

#include "aischedd/store/row.h"
#include "libcommon/mem.h"

enum kind {
	I64,
	U32,
	I32,
	U8,
	BOOL,
	TIME, /* an I64 whose NO_TIME is null */
	TASK  /* a U32 whose NO_TASK is null */
};

/*
 * Numbers of struct job.  Then come the texts, see enum text_column, and
 * what was asked for, packed: a column for each of its fields, most of them
 * null, would take half of the time in which a million jobs are loaded.
 */
static const struct column {
	const char *name;
	enum kind kind;
	size_t offset;
} columns[] = {
#define C(kind, field, name)                            \
	{                                               \
		name, kind, offsetof(struct job, field) \
	}
	C(I64, id, "id"),
	C(I64, array, "array_id"),
	C(TASK, task, "array_task"),
	C(U32, uid, "uid"),
	C(U32, gid, "gid"),
	C(U8, state, "state"),
	C(U8, hold, "hold"),
	C(U8, cause, "cause"),
	C(U8, why, "reason"),
	C(BOOL, wants_resume, "wants_resume"),
	C(BOOL, signalled, "signalled"),
	C(U32, attempt, "attempt"),
	C(U32, restarts, "restarts"),
	C(U32, preemptions, "preemptions"),
	C(U32, start_fails, "start_fails"),
	C(I64, priority, "priority"),
	C(I64, time_limit, "time_limit"),
	C(I64, grace, "grace"),
	C(I64, mem_default, "mem_default"),
	C(TIME, submit, "submit_time"),
	C(TIME, eligible, "eligible_time"),
	C(TIME, begin, "begin_time"),
	C(TIME, deadline, "deadline"),
	C(TIME, start, "start_time"),
	C(TIME, end, "end_time"),
	C(TIME, resumed, "resumed_time"),
	C(I64, ran, "ran"),
	C(I64, served, "served"),
	C(I64, charge, "charge"),
	C(U8, evict, "evict"),
	C(I64, evict_by, "evict_by"),
	C(TIME, retry_at, "retry_time"),
	C(I64, script, "script"),
	C(I64, env, "env"),
	C(I32, exit_code, "exit_code"),
	C(I32, signal, "signal"),
	C(I64, cpu_ms, "cpu_ms"),
	C(I64, peak_mem_kib, "peak_mem_kib"),
	C(U32, replaced, "replaced"),
#undef C
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
	NTEXTS
};
static const char *const text_names[NTEXTS] = {
	"user",   "queue",   "tasks", "text",     "place",
	"depend", "leaving", "claim", "evictions"
};

enum { NUMBERS = ARRAY_SIZE(columns), ASKED = NUMBERS + NTEXTS };

const char *row_columns(void)
{
	static struct buf names; /* made once, kept for the process */

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

/* The value that null stands for. */
static int64_t null_of(const struct column *c)
{
	return c->kind == TIME   ? NO_TIME
	       : c->kind == TASK ? (int64_t)NO_TASK
	                         : SPEC_UNSET;
}

static int64_t get(const struct job *job, const struct column *c)
{
	const char *p = (const char *)job + c->offset;
	int64_t i64;
	uint32_t u32;
	int32_t i32;

	switch (c->kind) {
	case I64:
	case TIME:
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

static void set(struct job *job, const struct column *c, int64_t value)
{
	char *p = (char *)job + c->offset;
	uint32_t u32 = (uint32_t)value;

	switch (c->kind) {
	case I64:
	case TIME:
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

/* A text that has to be made; nothing for none. */
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
			state_placement_format(state, job->place, out);
		break;
	case T_DEPEND:
		if (job->deps)
			dependency_format(job->deps, out);
		break;
	case T_LEAVING:
		if (job->leaving)
			state_placement_format(state, job->leaving, out);
		break;
	case T_CLAIM:
		state_claim_format(state, job->claim, out);
		break;
	case T_EVICTIONS:
		state_evictions_format(job->evictions, out);
		break;
	default: /* it is there already */
		break;
	}
}

/* Texts that have to be made go into scratch, which outlives the step. */
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
		text[T_PLACE] = job->last_place;
	text[T_USER] = state_user(state, job->user)->name;
	text[T_QUEUE] = state_conf(state)->queues[job->queue].name;
	text[T_TEXT] = job->text;
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
	};
}

const char *row_tasks(const struct stmt *s)
{
	return db_col_text(s, NUMBERS + T_TASKS);
}

int row_read(const struct stmt *s, struct past_job *ret, struct err *err)
{
	const void *asked = sqlite3_column_blob(s->s, ASKED);
	size_t size = (size_t)sqlite3_column_bytes(s->s, ASKED);

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < NUMBERS; i++)
		set(&ret->job, &columns[i],
		    db_col_i64(s, (int)i, null_of(&columns[i])));
	ret->user = db_col_text(s, NUMBERS + T_USER);
	ret->queue = db_col_text(s, NUMBERS + T_QUEUE);
	ret->place = db_col_text(s, NUMBERS + T_PLACE);
	ret->job.text = (char *)(uintptr_t)db_col_text(s, NUMBERS + T_TEXT);
	ret->job.packed = (char *)(uintptr_t)asked;
	if (!asked || !spec_packed_check(asked, size))
		return err_set(err, EINVAL,
		               "what job %llu asked for cannot be read",
		               (unsigned long long)ret->job.id);
	return 0;
}
