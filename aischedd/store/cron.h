/*
 * cron.h - write cron entries to the store, and load them
 */
#ifndef AISCHEDD_STORE_CRON_H
#define AISCHEDD_STORE_CRON_H

#include "aischedd/store/own.h"

/* Write cron entries that changed or were deleted, and changed cron files, in
 * the transaction of the turn. */
int cron_put(struct store *store, const struct state *state, struct err *err);

/* Load into the state a cron entry from a row of LOAD_CRON, or the file from
 * which a user imported entries from a row of LOAD_CRON_FILES. Both fail with
 * EINVAL if the row is not valid. */
int cron_load(struct state *state, const struct stmt *s, struct err *err);
int cron_load_file(struct state *state, const struct stmt *s, struct err *err);

#endif
