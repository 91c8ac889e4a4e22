/*
 * space.h - reserve disk space, so that jobs can be ended on a full disk
 *
 * SQLite appends commits to the -wal file, and after a checkpoint writes it
 * again from its beginning. The store allocates blocks to that file beyond its
 * end (fallocate), more than it grows between two checkpoints. No other process
 * can take these blocks. Even if others have filled the disk, the store can
 * thus commit that a job was cancelled, has ended or has reached its time
 * limit. (A spare file that is deleted when needed would not do: others could
 * take its blocks first.) The database file grows in large chunks, so that a
 * checkpoint has space, too.
 */
#ifndef AISCHEDD_STORE_SPACE_H
#define AISCHEDD_STORE_SPACE_H

#include <sqlite3.h>
#include <stdbool.h>

struct store;

/* Have this connection enlarge the database file at `path` in large chunks.
 * Call it for each connection that may make a checkpoint. */
void space_in_chunks(sqlite3 *sql, const char *path);

/* Allocate blocks to the -wal file and pages to the database, as far as the
 * disk has space. Call it when the store was opened, and when a full disk has
 * space again. */
void space_reserve(const struct store *store);

/* Make a checkpoint, after which SQLite writes the -wal file from its beginning
 * again, so that the next commits use its allocated blocks. Call it on a full
 * disk after each commit, successful or not. */
void space_reuse(const struct store *store);

/* Whether the disk is nearly full. A commit may still succeed. */
bool space_is_low(const struct store *store);

#endif
