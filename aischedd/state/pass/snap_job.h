/*
 * snap_job.h - running and pending jobs, in a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_JOB_H
#define AISCHEDD_STATE_PASS_SNAP_JOB_H

#include <stdbool.h>

#include "aischedd/state/pass/snap_build.h"

void snapshot_run(struct build *b);

/* Take all rows, then suspended jobs that are to resume, then `extra` unless a
 * row has it. */
void snapshot_take_pend(struct build *b, const struct job *extra, bool only);

/* Read the rows taken, and list their jobs; on any thread. */
void snapshot_pend(struct build *b);

/* Let go of the rows taken, on the loop's thread. */
void snapshot_let_go(struct build *b);

#endif
