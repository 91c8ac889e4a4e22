/*
 * checkpoint.h - the log of changes is moved into the database by a thread
 * with a connection of its own, so that no turn waits for it
 */
#ifndef AISCHEDD_STORE_CHECKPOINT_H
#define AISCHEDD_STORE_CHECKPOINT_H

#include <sqlite3.h>

struct checkpoints;

/* Whenever what sql writes has made the log long.  sql's database is at path.
 */
struct checkpoints *checkpoints_start(sqlite3 *sql, const char *path);

/* Before sql is closed.  NULL is fine. */
void checkpoints_stop(struct checkpoints *checkpoints);

#endif
