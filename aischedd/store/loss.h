/*
 * loss.h - find out whether the database lacks earlier commits
 *
 * Each commit has a number, kept in the database and, after the commit, in the
 * file state_dir/commits. A database whose number is below that in the file is
 * an old copy, has lost its -wal file, or was created anew in an old state_dir.
 * A power failure may leave the file's number below the database's, never above
 * it. If the file is lost as well, the folder run/ shows the loss: it has
 * attempts of jobs with higher ids than the database ever gave out.
 */
#ifndef AISCHEDD_STORE_LOSS_H
#define AISCHEDD_STORE_LOSS_H

#include <stdbool.h>

#include "aischedd/store/own.h"

/*
 * Check that the open database has all commits. accept: open it even if commits
 * are missing; ids of lost jobs that run/ still names are not given out again.
 * Fails with EINVAL if commits are missing and `accept` is false; EIO, EACCES
 * or ENOSPC if state_dir/commits cannot be opened.
 */
int loss_check(struct store *store, const char *state_dir, bool accept,
               struct err *err);

/* Write the number of the last commit to state_dir/commits. */
void loss_note(struct store *store);

#endif
