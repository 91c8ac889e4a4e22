/*
 * cron_run.h - submit runs of recurring work in the name of their owners
 *
 * A separate thread asks the name service for an owner; then the run is settled
 * in one turn.
 */
#ifndef AISCHEDD_OP_CRON_RUN_H
#define AISCHEDD_OP_CRON_RUN_H

#include "aischedd/daemon.h"

struct cron_entry;

/* Call it before the state is loaded: entries need their time zones. */
int daemon_new_crons(struct daemon *d, struct err *err);
void daemon_free_crons(struct daemon *d);

/* Start the next run of an entry: EFFECT_CRON. */
void daemon_cron_due(struct daemon *d, uint64_t entry);

/* Run an entry now, whatever its schedule says; answers the ask when the run is
 * submitted or refused. */
void cron_run_by_hand(struct daemon *d, struct cron_entry *entry,
                      struct ask *ask);

/* Cancel the entry's runs that have not ended. */
void cron_end_runs(struct daemon *d, struct cron_entry *entry);

/* Returns the thread that asks the name service, for use by other requests. */
struct thread *cron_names(const struct daemon *d);

/* Look again at the files of time zones, and at the queues of entries. */
void daemon_cron_recheck(struct daemon *d);

#endif
