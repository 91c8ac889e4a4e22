/* recover.h - what became of attempts whose shepherd does not answer */
#ifndef AISCHEDD_RUN_LOCAL_RECOVER_H
#define AISCHEDD_RUN_LOCAL_RECOVER_H

#include "aischedd/run/local/local.h"

/*
 * Try to take the daemon's lock. Each shepherd inherits the lock from the
 * nursery, and releases it once it has claimed its attempt. So a daemon that
 * gets the lock knows that no start by an earlier daemon is still in progress.
 * Returns false if the lock is still held.
 */
bool local_lock(struct local *l);
void local_recover(struct runner *r, size_t n, const struct run_attempt *list);
/* Find the folders of attempts that recover() did not name. */
void local_find_strays(struct local *l);

/* Find out how an unclear or dying attempt ended. Returns true once this is
 * known and none of the attempt's processes is left. */
bool attempt_settle(struct attempt *a);

#endif
