/*
 * checkpoint.h - a thread moves the log of changes into the database, with a
 * connection of its own, so that no turn waits for it
 */
#ifndef AISCHEDD_STORE_CHECKPOINT_H
#define AISCHEDD_STORE_CHECKPOINT_H

#include <sqlite3.h>

struct checkpoints;

/* Make checkpoints whenever the writes of sql have made the log long. path: the
 * database of sql. */
struct checkpoints *checkpoints_start(sqlite3 *sql, const char *path);

/* Make one now, whatever the length of the log is. */
void checkpoints_now(struct checkpoints *checkpoints);

/* Call it before sql is closed. NULL is allowed. */
void checkpoints_stop(struct checkpoints *checkpoints);

#endif
