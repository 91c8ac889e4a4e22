/*
 * snap_job.h - copy running and pending jobs into a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_JOB_H
#define AISCHEDD_STATE_PASS_SNAP_JOB_H

#include <stdbool.h>

#include "aischedd/state/pass/snap_build.h"

void snapshot_run(struct state *state, struct build *b);
/* Free what snapshots share about running jobs. */
void run_frame_drop(struct placed_list *placed);

/* Copy from the state what snapshot_pend() needs of all rows. Then add a row
 * for each suspended job that is to resume, and one for `extra` (unless it is
 * NULL, or a row has its key). only: copy nothing, add only `extra`. */
void snapshot_take_pend(struct build *b, const struct job *extra, bool only);

/* Write the snapshot's rows and their jobs from what snapshot_take_pend()
 * copied, and the arrays that have a limit; may run on any thread. */
void snapshot_pend(struct build *b);

/* Free the copies of the rosters; call it on the loop's thread. */
void snapshot_let_go(struct build *b);

#endif
