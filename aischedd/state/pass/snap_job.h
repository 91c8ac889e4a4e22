/*
 * snap_job.h - running and pending jobs, in a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_JOB_H
#define AISCHEDD_STATE_PASS_SNAP_JOB_H

#include <stdbool.h>

#include "aischedd/state/pass/snap_build.h"

void snapshot_run(struct build *b);

/* Copy what is needed of all rows; then add as rows the suspended jobs that are
 * to resume, and `extra`, if no row has its key. only: nothing but extra. */
void snapshot_take_pend(struct build *b, const struct job *extra, bool only);

/* Read the rows that were copied, and list their jobs; on any thread. */
void snapshot_pend(struct build *b);

/* Free the copies of the rosters, on the loop's thread. */
void snapshot_let_go(struct build *b);

#endif
