/*
 * checkpoint.h - move SQLite's write-ahead log into the database
 *
 * A thread does this over a database connection of its own, so that no turn of
 * the loop waits for it.
 */
#ifndef AISCHEDD_STORE_CHECKPOINT_H
#define AISCHEDD_STORE_CHECKPOINT_H

#include <sqlite3.h>

struct checkpoints;

/* Start the thread. It makes a checkpoint whenever a commit on the connection
 * `sql` leaves 1000 pages or more in the log. path: file of the database that
 * `sql` has open. */
struct checkpoints *checkpoints_start(sqlite3 *sql, const char *path);

/* Have the thread make a checkpoint now, however short the log is; does not
 * wait for it. */
void checkpoints_now(struct checkpoints *checkpoints);

/* End the thread and free `checkpoints`, which may be NULL. Call it before the
 * connection given to checkpoints_start() is closed. */
void checkpoints_stop(struct checkpoints *checkpoints);

#endif
