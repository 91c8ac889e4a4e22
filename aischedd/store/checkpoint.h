/*
 * checkpoint.h - move SQLite's write-ahead log into the database, on a thread
 * with a connection of its own, so that no turn waits for it
 */
#ifndef AISCHEDD_STORE_CHECKPOINT_H
#define AISCHEDD_STORE_CHECKPOINT_H

#include <sqlite3.h>

struct checkpoints;

/* Make a checkpoint whenever writes of sql have made the log long. path: the
 * database of sql. */
struct checkpoints *checkpoints_start(sqlite3 *sql, const char *path);

/* Make one now, however short the log is. */
void checkpoints_now(struct checkpoints *checkpoints);

/* Call it before sql is closed. NULL is allowed. */
void checkpoints_stop(struct checkpoints *checkpoints);

#endif
