/*
 * cron.h - write cron entries to the store, and load them
 */
#ifndef AISCHEDD_STORE_CRON_H
#define AISCHEDD_STORE_CRON_H

#include "aischedd/store/own.h"

/* Write cron entries that changed or were deleted, and changed cron files, in
 * the transaction of the turn. */
int cron_put(struct store *store, const struct state *state, struct err *err);

/* Load a row into the state: cron_load() a cron entry from LOAD_CRON,
 * cron_load_file() a user's cron file from LOAD_CRON_FILES. Both fail with
 * EINVAL if the row is not valid. */
int cron_load(struct state *state, const struct stmt *s, struct err *err);
int cron_load_file(struct state *state, const struct stmt *s, struct err *err);

#endif
