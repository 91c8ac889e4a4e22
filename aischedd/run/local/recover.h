/*
 * recover.h - attempts whose shepherd does not answer
 */
#ifndef AISCHEDD_RUN_LOCAL_RECOVER_H
#define AISCHEDD_RUN_LOCAL_RECOVER_H

#include "aischedd/run/local/local.h"

/*
 * Take the daemon's lock. Each shepherd inherits it, and releases it once it
 * has claimed its attempt; so whoever gets the lock knows that no start of an
 * earlier daemon is still under way.
 */
bool local_lock(struct local *l);
void local_recover(struct runner *r, size_t n, const uint64_t *job,
                   const uint32_t *attempt);
/* Find directories of attempts that the daemon did not name. */
void local_find_strays(struct local *l);

/* Do one step for an unclear or dying attempt; returns true once it is
 * settled. */
bool attempt_settle(struct attempt *a);

#endif
