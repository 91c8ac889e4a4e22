/*
 * loss.h - whether the database lacks something that was once committed
 *
 * Each commit has a number, kept in the database and, after the commit, in
 * state_dir/commits. A database behind that number is an old copy, has lost its
 * -wal file, or was made anew in an old state_dir. A power failure may leave
 * the file behind the database, never ahead of it. If the file is lost as well,
 * attempts in run/ of jobs with higher ids than the database ever gave out show
 * the loss.
 */
#ifndef AISCHEDD_STORE_LOSS_H
#define AISCHEDD_STORE_LOSS_H

#include <stdbool.h>

#include "aischedd/store/own.h"

/*
 * Call it when the database is open. accept: go on nevertheless; ids of lost
 * jobs that run/ still names are not given out again. Fails with EINVAL if
 * commits are missing; EIO, EACCES or ENOSPC.
 */
int loss_check(struct store *store, const char *state_dir, bool accept,
               struct err *err);

/* Note that a commit has succeeded. */
void loss_note(struct store *store);

#endif
