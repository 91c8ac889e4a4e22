/*
 * loss.h - whether the database lacks what was once committed
 *
 * Each commit has a number, kept in the database and, after the commit, in
 * state_dir/commits.  A database behind that number is a copy of before, has
 * lost its -wal file, or is new in a folder that is not.  A power failure may
 * leave the file behind the database, never ahead of it.  Where the file is
 * gone as well, attempts in run/ of jobs with ids not yet given out show it.
 */
#ifndef AISCHEDD_STORE_LOSS_H
#define AISCHEDD_STORE_LOSS_H

#include <stdbool.h>

#include "aischedd/store/own.h"

/*
 * When the database is open.  accept: go on with what there is; ids of lost
 * jobs are not given out again as far as run/ still names them.
 * Fails: EINVAL, commits are missing; EIO, EACCES, ENOSPC.
 */
int loss_check(struct store *store, const char *state_dir, bool accept,
               struct err *err);

/* A commit has succeeded. */
void loss_note(struct store *store);

#endif
