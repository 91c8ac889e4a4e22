/*
 * cron_run.h - submit runs of recurring work in the name of their owners
 *
 * A separate thread looks up the owner in the name service; then the run is
 * submitted or refused, within one turn.
 */
#ifndef AISCHEDD_OP_CRON_RUN_H
#define AISCHEDD_OP_CRON_RUN_H

#include "aischedd/daemon.h"

struct cron_entry;

/* Set up runs of recurring work. Call this before the state is loaded, because
 * loading cron entries needs time zones. */
int daemon_new_crons(struct daemon *d, struct err *err);
void daemon_free_crons(struct daemon *d);

/* Carry out EFFECT_CRON: submit the run of an entry that is due. */
void daemon_cron_due(struct daemon *d, uint64_t entry);

/* Submit a run of the entry now, whatever its schedule says. The ask is
 * answered when the run has been submitted or refused. */
void cron_run_by_hand(struct daemon *d, struct cron_entry *entry,
                      struct ask *ask);

/* Cancel the jobs of the entry's runs that have not ended. */
void cron_end_runs(struct daemon *d, struct cron_entry *entry);

/* Returns the thread that asks the name service, for use by other requests. */
struct thread *cron_names(const struct daemon *d);

/* Read time zones again if their files changed, and check whether the queues
 * that cron entries submit to exist. */
void daemon_cron_recheck(struct daemon *d);

#endif
