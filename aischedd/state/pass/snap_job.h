/*
 * snap_job.h - copy running and pending jobs into a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_JOB_H
#define AISCHEDD_STATE_PASS_SNAP_JOB_H

#include <stdbool.h>

#include "aischedd/state/pass/snap_build.h"

void snapshot_run(struct build *b);

/* Copy from the state what snapshot_pend() needs of all rows. Then add as rows
 * the suspended jobs that are to resume, and `extra` (or NULL) if no row has
 * its key. only: add nothing but `extra`. */
void snapshot_take_pend(struct build *b, const struct job *extra, bool only);

/* Write the snapshot's rows and their jobs from what snapshot_take_pend()
 * copied; may run on any thread. */
void snapshot_pend(struct build *b);

/* Free the copies of the rosters; call it on the loop's thread. */
void snapshot_let_go(struct build *b);

#endif
