/*
 * cron_run.h - runs of recurring work, submitted as their owners are by now
 *
 * The name service is asked on a thread of its own; the run is settled in one
 * turn after that.
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

/* Run an entry now, whatever its schedule says, and answer then. */
void cron_run_by_hand(struct daemon *d, struct cron_entry *entry,
                      struct ask *ask);

/* End the runs that have not ended. */
void cron_end_runs(struct daemon *d, struct cron_entry *entry);

/* Returns the thread that asks the name service, for other requests. */
struct thread *cron_names(const struct daemon *d);

/* Look at the files of time zones again, and at the queues of entries. */
void daemon_cron_recheck(struct daemon *d);

#endif
