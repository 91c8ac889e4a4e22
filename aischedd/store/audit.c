/* audit.c - store who did what to jobs, nodes and queues, and list it */
#include "aischedd/store/audit.h"

#include <stdlib.h>

#include "aischedd/store/own.h"
#include "libcommon/buf.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

static const char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

void store_audit(struct store *store, const struct audit_row *row)
{
	struct audit_row *r;
	unsigned skipped;

	if (store->naudits >= AUDITS_KEPT) {
		if (log_again(&store->audits_lost, &skipped))
			log_warning("audit lost act=%s target='%s' user=%s "
			            "skipped=%u: too many wait for a commit",
			            row->act, row->target, row->user, skipped);
		return;
	}
	store->audit = GROW(store->audit, store->naudits, &store->audit_cap);
	r = &store->audit[store->naudits++];
	*r = *row;
	r->user = copy(row->user);
	r->act = copy(row->act);
	r->target = copy(row->target);
	r->owner = copy(row->owner);
	r->text = copy(row->text);
}

void audit_forget_new(struct store *store)
{
	for (size_t i = 0; i < store->naudits; i++) {
		struct audit_row *r = &store->audit[i];

		free((char *)r->user);
		free((char *)r->act);
		free((char *)r->target);
		free((char *)r->owner);
		free((char *)r->text);
	}
	store->naudits = 0;
}

int audit_put_new(struct store *store, struct err *err)
{
	for (size_t i = 0; i < store->naudits; i++) {
		const struct audit_row *r = &store->audit[i];
		struct stmt s = db_use(&store->db, PUT_AUDIT);

		db_i64(&s, 1, r->time_ms);
		db_i64(&s, 2, r->uid);
		db_text(&s, 3, r->user);
		db_text(&s, 4, r->act);
		if (r->job)
			db_i64(&s, 5, (int64_t)r->job);
		else
			db_null(&s, 5);
		db_text(&s, 6, r->target);
		db_text(&s, 7, r->owner);
		db_text(&s, 8, r->text);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

static void add_conditions(const struct audit_query *q, struct buf *sql)
{
	const struct {
		bool wanted;
		const char *sql;
	} conditions[] = {
		{ q->user, " AND user = ?1" },
		{ q->act, " AND act = ?2" },
		{ q->about,
		  " AND (user = ?3 OR owner = ?3"
		  " OR (target LIKE 'queue %' AND"
		  " instr(?8, ',' || substr(target, 7) || ','))"
		  " OR EXISTS (SELECT 1 FROM job WHERE job.id = audit.job AND"
		  " instr(?8, ',' || job.queue || ',')))" },
		{ q->job,
		  " AND (job = ?4 OR job IN (SELECT id FROM job WHERE id = ?4 OR"
		  " (array_id = ?4 AND array_id > 0)))" },
		{ q->since != NO_TIME, " AND time_ms >= ?5 * 1000" },
		{ q->until != NO_TIME, " AND time_ms < (?6 + 1) * 1000" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++)
		if (conditions[i].wanted)
			buf_puts(sql, conditions[i].sql);
}

static int list_rows(struct db *db, const struct audit_query *q, audit_fn *fn,
                     void *arg, struct err *err)
{
	struct stmt s = db_use(db, 0);
	int more;

	if (s.status == SQLITE_OK) {
		sqlite3_bind_text(s.s, 1, q->user, -1, SQLITE_STATIC);
		sqlite3_bind_text(s.s, 2, q->act, -1, SQLITE_STATIC);
		sqlite3_bind_text(s.s, 3, q->about, -1, SQLITE_STATIC);
		sqlite3_bind_int64(s.s, 4, (int64_t)q->job);
		sqlite3_bind_int64(s.s, 5, q->since);
		sqlite3_bind_int64(s.s, 6, q->until);
		sqlite3_bind_int64(s.s, 7, (int64_t)q->limit);
		sqlite3_bind_text(s.s, 8, q->queues, -1, SQLITE_STATIC);
	}
	while ((more = db_step(db, &s, err)) > 0)
		fn(
		    &(struct audit_row){
			.time_ms = db_col_i64(&s, 0, 0),
			.uid = (uint32_t)db_col_i64(&s, 1, 0),
			.user = db_col_text(&s, 2),
			.act = db_col_text(&s, 3),
			.job = (uint64_t)db_col_i64(&s, 4, 0),
			.target = db_col_text(&s, 5),
			.owner = db_col_text(&s, 6),
			.text = db_col_text(&s, 7),
		    },
		    arg);
	return more;
}

int store_audit_list(const char *path, const struct audit_query *query,
                     audit_fn *fn, void *arg, struct err *err)
{
	struct buf sql = { 0 };
	const char *text[1];
	struct db db;
	int result = -1;

	buf_puts(&sql, "SELECT time_ms, uid, user, act, job, target, owner,"
	               " text FROM audit WHERE 1");
	add_conditions(query, &sql);
	buf_puts(&sql, " ORDER BY id DESC LIMIT ?7");
	text[0] = sql.data;
	if (db_open(&db, path, true, text, 1, err) == 0) {
		result = list_rows(&db, query, fn, arg, err);
		db_close(&db);
	}
	buf_free(&sql);
	return result;
}
