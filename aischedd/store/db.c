/* db.c - SQLite with prepared statements, whose errors are checked only once */
#include "aischedd/store/db.h"

#include <stdio.h>
#include <stdlib.h>

#include "libcommon/mem.h"
#include "libcommon/steps.h"

/* Operations of SQLite's virtual machine between two calls of count_ops(). Two
 * operations count as one step of the thread. */
enum { OPS = 100 };

static int code_of(sqlite3 *sql)
{
	switch (sqlite3_errcode(sql)) {
	case SQLITE_FULL:
		return ENOSPC;
	case SQLITE_CANTOPEN:
		return ENOENT;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return EACCES;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return EINVAL;
	case SQLITE_BUSY:
		return EBUSY;
	default:
		/* Treat a full quota like a full disk. */
		return sqlite3_system_errno(sql) == ENOSPC ||
		               sqlite3_system_errno(sql) == EDQUOT
		           ? ENOSPC
		           : EIO;
	}
}

int db_corrupt(const char *why, struct err *err)
{
	return err_set(err, EINVAL,
	               "is corrupt (%s): restore a copy, or move it away and "
	               "start with --accept-loss to begin anew",
	               why);
}

int db_fail(struct db *db, const char *what, struct err *err)
{
	const char *why = sqlite3_errmsg(db->sql);
	int code = code_of(db->sql);

	if (code == EINVAL)
		return db_corrupt(why, err);
	return err_set(err, code, "%s: %s", what, why);
}

static int count_ops(void *arg)
{
	(void)arg;
	steps_add(OPS / 2);
	return 0;
}

int db_open(struct db *db, const char *path, bool read_only,
            const char *const *text, size_t n, struct err *err)
{
	int flags = read_only ? SQLITE_OPEN_READONLY
	                      : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

	*db = (struct db){ .text = text, .n = n };
	if (sqlite3_open_v2(path, &db->sql, flags | SQLITE_OPEN_NOMUTEX,
	                    NULL) != SQLITE_OK) {
		db_fail(db, "open", err);
		sqlite3_close(db->sql);
		*db = (struct db){ 0 };
		return -1;
	}
	sqlite3_extended_result_codes(db->sql, 0);
	sqlite3_busy_timeout(db->sql, 5000);
	sqlite3_progress_handler(db->sql, OPS, count_ops, NULL);
	db->stmt = xcalloc(n ? n : 1, sizeof(sqlite3_stmt *));
	return 0;
}

void db_close(struct db *db)
{
	for (size_t i = 0; i < db->n; i++)
		sqlite3_finalize(db->stmt[i]);
	free(db->stmt);
	sqlite3_close(db->sql);
	*db = (struct db){ 0 };
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db->sql, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return db_fail(db, "write", err);
}

int db_get_i64(struct db *db, const char *sql, int64_t *ret, struct err *err)
{
	sqlite3_stmt *s = NULL;
	int result = 0;

	if (sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		*ret = sqlite3_column_int64(s, 0);
	else
		result = db_fail(db, "read", err);
	sqlite3_finalize(s);
	return result;
}

struct stmt db_use(struct db *db, size_t which)
{
	struct stmt s = { .s = db->stmt[which], .status = SQLITE_OK };

	if (!s.s) {
		s.status =
		    sqlite3_prepare_v3(db->sql, db->text[which], -1,
		                       SQLITE_PREPARE_PERSISTENT, &s.s, NULL);
		db->stmt[which] = s.s;
		return s;
	}
	sqlite3_reset(s.s);
	return s;
}

static void note(struct stmt *s, int status)
{
	if (s->status == SQLITE_OK)
		s->status = status;
}

void db_i64(struct stmt *s, int column, int64_t value)
{
	note(s, sqlite3_bind_int64(s->s, column, value));
}

void db_text(struct stmt *s, int column, const char *value)
{
	note(s, sqlite3_bind_text(s->s, column, value, -1, SQLITE_STATIC));
}

void db_blob(struct stmt *s, int column, const void *data, size_t len)
{
	note(s, sqlite3_bind_blob64(s->s, column, data, len, SQLITE_STATIC));
}

void db_null(struct stmt *s, int column)
{
	note(s, sqlite3_bind_null(s->s, column));
}

int db_step(struct db *db, struct stmt *s, struct err *err)
{
	int status;

	if (s->status != SQLITE_OK) {
		sqlite3_reset(s->s);
		return db_fail(db, "database", err);
	}
	status = sqlite3_step(s->s);
	if (status == SQLITE_ROW)
		return 1;
	if (status != SQLITE_DONE)
		db_fail(db, "database", err);
	sqlite3_reset(s->s);
	return status == SQLITE_DONE ? 0 : -1;
}

int db_run(struct db *db, struct stmt *s, struct err *err)
{
	int more;

	while ((more = db_step(db, s, err)) > 0)
		;
	return more;
}

bool db_is_null(const struct stmt *s, int column)
{
	return sqlite3_column_type(s->s, column) == SQLITE_NULL;
}

/* Set *err to EINVAL: the column has a value that aischedd does not write.
 * Returns -1. */
static int bad_column(const struct stmt *s, int column, const char *want,
                      struct err *err)
{
	const char *is = db_col_text(s, column);

	return err_set(
	    err, EINVAL,
	    "column '%s' is %.60s, and must be %s: restore a copy of "
	    "the database, or correct this row",
	    sqlite3_column_name(s->s, column), is ? is : "null", want);
}

int db_int(const struct stmt *s, int column, int64_t least, int64_t most,
           int64_t *ret, struct err *err)
{
	char want[64];

	if (sqlite3_column_type(s->s, column) == SQLITE_INTEGER) {
		*ret = sqlite3_column_int64(s->s, column);
		if (*ret >= least && *ret <= most)
			return 0;
	}
	snprintf(want, sizeof(want), "%lld to %lld", (long long)least,
	         (long long)most);
	return bad_column(s, column, want, err);
}

int db_text_of(const struct stmt *s, int column, const char **ret,
               struct err *err)
{
	if (db_is_null(s, column))
		return bad_column(s, column, "a text", err);
	*ret = db_col_text(s, column);
	return 0;
}

int64_t db_col_i64(const struct stmt *s, int column, int64_t if_null)
{
	return sqlite3_column_type(s->s, column) == SQLITE_NULL
	           ? if_null
	           : sqlite3_column_int64(s->s, column);
}

const char *db_col_text(const struct stmt *s, int column)
{
	return (const char *)sqlite3_column_text(s->s, column);
}
