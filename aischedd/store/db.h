/*
 * db.h - SQLite with prepared statements and one error at the end
 *
 * A statement remembers its first failed bind or step, so that a function reads
 * as columns and one check. Statements are prepared once, by their number in
 * the caller's table of SQL. The work of SQLite counts as steps of the calling
 * thread.
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
	const char *const *text; /* the caller's SQL, [n] */
	sqlite3_stmt **stmt;
	size_t n;
};

struct stmt {
	sqlite3_stmt *s;
	int status; /* the first failure */
};

/* Open a database. Fails with ENOENT, EACCES, EINVAL (not a database) or
 * EIO. */
int db_open(struct db *db, const char *path, bool read_only,
            const char *const *text, size_t n, struct err *err);
void db_close(struct db *db);

/* Run SQL without parameters. */
int db_exec(struct db *db, const char *sql, struct err *err);

/* Read one integer, e.g. of a PRAGMA. */
int db_get_i64(struct db *db, const char *sql, int64_t *ret, struct err *err);

/* Set *err from the connection's last failure; ENOSPC if the disk is full. */
int db_fail(struct db *db, const char *what, struct err *err);

/* Fail with EINVAL: say why the database is bad, and what to do. */
int db_corrupt(const char *why, struct err *err);

/* Returns a statement ready for new values. */
struct stmt db_use(struct db *db, size_t which);
void db_i64(struct stmt *s, int column, int64_t value);      /* columns count
                                                                from 1 */
void db_text(struct stmt *s, int column, const char *value); /* NULL: null */
void db_blob(struct stmt *s, int column, const void *data, size_t len);
void db_null(struct stmt *s, int column);

/* Run the statement to its end. Fails if a bind or step failed. */
int db_run(struct db *db, struct stmt *s, struct err *err);

/* Returns 1 with a row; 0 at the end, when the statement is reset; or -1. */
int db_step(struct db *db, struct stmt *s, struct err *err);

/* Read a column of a row, from 0. Fails with EINVAL, and names the column,
 * unless it is an integer within the bounds, or a text. */
int db_int(const struct stmt *s, int column, int64_t least, int64_t most,
           int64_t *ret, struct err *err);
int db_text_of(const struct stmt *s, int column, const char **ret,
               struct err *err);
bool db_is_null(const struct stmt *s, int column);

/* Read columns that may be null; they return the given value then. */
int64_t db_col_i64(const struct stmt *s, int column, int64_t if_null);
const char *db_col_text(const struct stmt *s, int column); /* NULL if it is
                                                              null */

#endif
