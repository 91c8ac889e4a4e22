/*
 * db.h - SQLite with prepared statements, whose errors are checked only once
 *
 * A statement (struct stmt) remembers its first failed bind, and db_step() or
 * db_run() then fails: a caller binds all columns, and checks for errors only
 * once. Statements are prepared once, and named by their index in the caller's
 * table of SQL texts. SQLite's work counts as steps of the calling thread, see
 * libcommon/steps.h.
 */
#ifndef AISCHEDD_STORE_DB_H
#define AISCHEDD_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

struct db {
	sqlite3 *sql;
	const char *const *text; /* the caller's table of SQL, n texts */
	sqlite3_stmt **stmt;
	size_t n;
};

struct stmt {
	sqlite3_stmt *s;
	int status; /* the first error of a bind; else SQLITE_OK */
};

/* Open a database file, and create it if it is missing and read_only is false.
 * text: table of n SQL texts, which the caller keeps. Fails with ENOENT,
 * EACCES, EINVAL (not a database) or EIO. */
int db_open(struct db *db, const char *path, bool read_only,
            const char *const *text, size_t n, struct err *err);
void db_close(struct db *db);

/* Run SQL without parameters. */
int db_exec(struct db *db, const char *sql, struct err *err);

/* Run SQL that returns one integer, e.g. a PRAGMA. */
int db_get_i64(struct db *db, const char *sql, int64_t *ret, struct err *err);

/* Set *err from the connection's last failure, with `what` before its text, and
 * return -1. The code is ENOSPC if the disk is full. */
int db_fail(struct db *db, const char *what, struct err *err);

/* Set *err to EINVAL, with a text that says why the database is corrupt and
 * what the administrator can do. Returns -1. */
int db_corrupt(const char *why, struct err *err);

/* Returns statement number `which`, prepared if needed and reset; values bound
 * before stay until they are bound anew. */
struct stmt db_use(struct db *db, size_t which);
void db_i64(struct stmt *s, int column, int64_t value); /* columns count
                                                           from 1 */
/* a NULL pointer stores null */
void db_text(struct stmt *s, int column, const char *value);
void db_blob(struct stmt *s, int column, const void *data, size_t len);
void db_null(struct stmt *s, int column);

/* Run the statement to its end. Fails if one of its binds or a step failed. */
int db_run(struct db *db, struct stmt *s, struct err *err);

/* Get the next row. Returns 1 if there is one; 0 at the end, when the statement
 * is reset; or -1 if a bind or the step failed. */
int db_step(struct db *db, struct stmt *s, struct err *err);

/* Read a column (counted from 0) of the row that db_step() got. Both fail with
 * EINVAL and name the column: db_int() unless the value is an integer from
 * `least` to `most`, db_text_of() if the value is null. */
int db_int(const struct stmt *s, int column, int64_t least, int64_t most,
           int64_t *ret, struct err *err);
int db_text_of(const struct stmt *s, int column, const char **ret,
               struct err *err);
bool db_is_null(const struct stmt *s, int column);

/* Read a column that may be null; for null, db_col_i64() returns if_null. */
int64_t db_col_i64(const struct stmt *s, int column, int64_t if_null);
const char *db_col_text(const struct stmt *s, int column); /* NULL if it is
                                                              null */

#endif
