/*
 * space.h - keep room in which jobs can be ended on a full disk
 *
 * SQLite appends commits to the -wal file and restarts it after a checkpoint.
 * Blocks are allocated to that file beyond its end, more than it grows between
 * two checkpoints. So ends, cancels and limits can be committed even if others
 * have filled the disk: nobody else can take blocks that are allocated to a
 * file, unlike those of a reserve that is released. The database grows in large
 * chunks, so that a checkpoint has room, too.
 */
#ifndef AISCHEDD_STORE_SPACE_H
#define AISCHEDD_STORE_SPACE_H

#include <sqlite3.h>
#include <stdbool.h>

struct store;

/* Make this connection to the database at path grow it in chunks. Call it for
 * each connection that may make a checkpoint. */
void space_in_chunks(sqlite3 *sql, const char *path);

/* Allocate blocks to the -wal file and pages to the database, as far as the
 * disk has room. Call it when the store is open, and when there is room
 * again. */
void space_reserve(const struct store *store);

/* Make SQLite restart the -wal file, so that the next commits use its allocated
 * blocks. Call it on a full disk after each commit, successful or not. */
void space_reuse(const struct store *store);

/* Whether the disk is nearly full. A commit may still succeed. */
bool space_is_low(const struct store *store);

#endif
