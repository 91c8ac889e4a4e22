/*
 * cron.h - recurring work in the store
 */
#ifndef AISCHEDD_STORE_CRON_H
#define AISCHEDD_STORE_CRON_H

#include "aischedd/store/own.h"

/* Write entries and files that changed, in the transaction of the turn. */
int cron_put(struct store *store, const struct state *state, struct err *err);

/* Load an entry from a row of LOAD_CRON, or a file from one of
 * LOAD_CRON_FILES. */
int cron_load(struct state *state, const struct stmt *s, struct err *err);
int cron_load_file(struct state *state, const struct stmt *s, struct err *err);

#endif
