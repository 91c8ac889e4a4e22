/*
 * space.h - jobs can be ended on a full disk
 *
 * SQLite appends commits to the -wal file and begins it anew after a
 * checkpoint. Blocks are allocated to that file beyond its end, more than it
 * grows to between two checkpoints. So ends, cancels and limits can be
 * committed when others have filled the disk: nobody else can take what is
 * allocated to a file, unlike the blocks of a reserve that is released. The
 * database grows in large chunks, so that a checkpoint has room, too.
 */
#ifndef AISCHEDD_STORE_SPACE_H
#define AISCHEDD_STORE_SPACE_H

#include <sqlite3.h>
#include <stdbool.h>

struct store;

/* Have this connection to the database at path grow it in chunks. Call it for
 * each connection that may make a checkpoint. */
void space_in_chunks(sqlite3 *sql, const char *path);

/* Allocate them, as far as the disk has room. Call it when the store is open,
 * and when there is room again. */
void space_reserve(const struct store *store);

/* Have SQLite begin the -wal file anew, so that the next commits write where it
 * has blocks already. Call it on a full disk after each commit that succeeded
 * or failed. */
void space_reuse(const struct store *store);

/* Whether the disk is nearly full. A commit may still succeed. */
bool space_is_low(const struct store *store);

#endif
