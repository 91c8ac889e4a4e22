/* cron.c - write cron entries to the store, and load them */
#include "aischedd/store/cron.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/life/cron.h"
#include "libcommon/mem.h"

/* The largest count, sum or time that a row may have. */
#define MOST ((int64_t)1 << 60)

/* Bind a time; SCHEDULE_NEVER and NO_TIME are stored as null. */
static void put_time(struct stmt *s, int column, int64_t time)
{
	if (time == SCHEDULE_NEVER || time == NO_TIME)
		db_null(s, column);
	else
		db_i64(s, column, time);
}

/* Columns of PUT_CRON and LOAD_CRON, counted from 1. */
enum {
	ID = 1,
	UID,
	GID,
	USER,
	ASKED,
	SCRIPT,
	ENV,
	SCHEDULE,
	ZONE,
	POLICY,
	MAKE_UP,
	LATE,
	JITTER,
	UNTIL,
	CREATED,
	LOOKED,
	LAST,
	LAST_JOB,
	RUNS,
	SKIPPED,
	MISSED,
	REFUSED,
	PAUSED,
	IMPORTED,
	REASON
};

static int put_entry(struct store *store, const struct state *state,
                     const struct cron_entry *e, struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_CRON);
	const struct cron_rule *rule = &e->rule;

	db_i64(&s, ID, (int64_t)e->id);
	db_i64(&s, UID, e->uid);
	db_i64(&s, GID, e->gid);
	db_text(&s, USER, state_user(state, e->user)->name);
	db_blob(&s, ASKED, e->packed, spec_packed_size(e->packed));
	db_i64(&s, SCRIPT, e->script);
	db_i64(&s, ENV, e->env);
	db_text(&s, SCHEDULE, rule->schedule);
	db_text(&s, ZONE, rule->zone);
	db_i64(&s, POLICY, rule->policy);
	db_i64(&s, MAKE_UP, rule->make_up);
	put_time(&s, LATE, rule->late_s);
	db_i64(&s, JITTER, rule->jitter_s);
	put_time(&s, UNTIL, rule->until);
	db_i64(&s, CREATED, e->created);
	db_i64(&s, LOOKED, e->looked);
	put_time(&s, LAST, e->last);
	db_i64(&s, LAST_JOB, (int64_t)e->last_job);
	db_i64(&s, RUNS, (int64_t)e->runs);
	db_i64(&s, SKIPPED, (int64_t)e->skipped);
	db_i64(&s, MISSED, (int64_t)e->missed);
	db_i64(&s, REFUSED, (int64_t)e->refused);
	db_i64(&s, PAUSED, e->paused);
	db_i64(&s, IMPORTED, e->imported);
	db_text(&s, REASON, e->reason);
	return db_run(&store->db, &s, err);
}

static int put_files(struct store *store, const struct cron_table *t,
                     struct err *err)
{
	for (size_t i = 0; i < t->nfiles; i++) {
		struct stmt s;

		if (!t->file[i].is_dirty)
			continue;
		s = db_use(&store->db,
		           t->file[i].text ? PUT_CRON_FILE : DEL_CRON_FILE);
		db_i64(&s, 1, t->file[i].uid);
		if (t->file[i].text)
			db_i64(&s, 2, t->file[i].text);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

int cron_put(struct store *store, const struct state *state, struct err *err)
{
	const struct cron_table *t = state_cron_table(state);

	if (!t->is_dirty)
		return 0;
	for (size_t i = 0; i < t->ngone; i++) {
		struct stmt s = db_use(&store->db, DEL_CRON);

		db_i64(&s, 1, (int64_t)t->gone[i]);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	for (const struct cron_entry *e = t->first; e; e = e->next)
		if (e->is_dirty && put_entry(store, state, e, err) < 0)
			return -1;
	return put_files(store, t, err);
}

/* --- loading ------------------------------------------------------------ */

static int get(const struct stmt *s, int column, int64_t least, int64_t most,
               int64_t null, int64_t *ret, struct err *err)
{
	*ret = null;
	if (null != 0 && db_is_null(s, column - 1))
		return 0;
	return db_int(s, column - 1, least, most, ret, err);
}

static int read_numbers(const struct stmt *s, struct cron_entry *e,
                        struct err *err)
{
	struct cron_rule *rule = &e->rule;
	int64_t id, uid, gid, last_job, runs, skipped, missed, refused;
	int64_t policy, make_up, paused, imported;
	const struct {
		int column;
		int64_t *ret, least, most, null;
	} numbers[] = {
		{ ID, &id, 1, MOST, 0 },
		{ UID, &uid, 0, UINT32_MAX, 0 },
		{ GID, &gid, 0, UINT32_MAX, 0 },
		{ SCRIPT, &e->script, 0, MOST, 0 },
		{ ENV, &e->env, 0, MOST, 0 },
		{ POLICY, &policy, 0, CRON_POLICIES - 1, 0 },
		{ MAKE_UP, &make_up, 0, 1, 0 },
		{ LATE, &rule->late_s, 0, MOST, SCHEDULE_NEVER },
		{ JITTER, &rule->jitter_s, 0, CRON_JITTER_MAX_S, 0 },
		{ UNTIL, &rule->until, 0, MOST, SCHEDULE_NEVER },
		{ CREATED, &e->created, 0, MOST, 0 },
		{ LOOKED, &e->looked, 0, MOST, 0 },
		{ LAST, &e->last, 0, MOST, NO_TIME },
		{ LAST_JOB, &last_job, 0, MOST, 0 },
		{ RUNS, &runs, 0, MOST, 0 },
		{ SKIPPED, &skipped, 0, MOST, 0 },
		{ MISSED, &missed, 0, MOST, 0 },
		{ REFUSED, &refused, 0, MOST, 0 },
		{ PAUSED, &paused, 0, 1, 0 },
		{ IMPORTED, &imported, 0, 1, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (get(s, numbers[i].column, numbers[i].least, numbers[i].most,
		        numbers[i].null, numbers[i].ret, err) < 0)
			return -1;
	e->id = (uint64_t)id;
	e->uid = (uint32_t)uid;
	e->gid = (uint32_t)gid;
	e->last_job = (uint64_t)last_job;
	e->runs = (uint64_t)runs;
	e->skipped = (uint64_t)skipped;
	e->missed = (uint64_t)missed;
	e->refused = (uint64_t)refused;
	rule->policy = (enum cron_policy)policy;
	rule->make_up = make_up;
	e->paused = paused;
	e->imported = imported;
	return 0;
}

int cron_load(struct state *state, const struct stmt *s, struct err *err)
{
	const void *asked = sqlite3_column_blob(s->s, ASKED - 1);
	size_t size = (size_t)sqlite3_column_bytes(s->s, ASKED - 1);
	struct cron_entry entry = { .next_at = NO_TIME, .alarm_at = NO_TIME };
	struct cron_entry *e;
	const char *user, *reason = db_col_text(s, REASON - 1);

	if (read_numbers(s, &entry, err) < 0 ||
	    db_text_of(s, USER - 1, &user, err) < 0 ||
	    db_text_of(s, SCHEDULE - 1, &entry.rule.schedule, err) < 0 ||
	    db_text_of(s, ZONE - 1, &entry.rule.zone, err) < 0)
		return -1;
	if (!asked || !spec_packed_check(asked, size))
		return err_set(err, EINVAL, "column 'asked' has no request");
	e = xmalloc(sizeof(*e));
	*e = entry;
	e->packed = memcpy(xmalloc(size), asked, size);
	e->reason = reason ? xstrdup(reason) : NULL;
	e->user = state_intern_user(state, e->uid, user);
	return state_load_cron(state, &e, err);
}

int cron_load_file(struct state *state, const struct stmt *s, struct err *err)
{
	int64_t uid, text;

	if (db_int(s, 0, 0, UINT32_MAX, &uid, err) < 0 ||
	    db_int(s, 1, 1, MOST, &text, err) < 0)
		return -1;
	state_load_cron_file(state, (uint32_t)uid, text);
	return 0;
}
