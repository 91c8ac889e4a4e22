/*
 * told.h - what a plan says about jobs that are not the first of their row
 *
 * A plan has one verdict for each row of jobs (row.h). It applies to the first
 * job of the row; later jobs have other positions and expected starts.
 */
#ifndef AISCHEDD_STATE_PASS_TOLD_H
#define AISCHEDD_STATE_PASS_TOLD_H

#include "aischedd/sched/plan.h"

/* The plan's findings about one job: its expected start (SNAP_NEVER: not
 * known), its position in its queue, and the job that it waits for (`behind`;
 * 0: not known). */
struct turn_told {
	uint64_t job, behind;
	int64_t expected;
	uint32_t position;
};

/* A list of struct turn_told, sorted by job. */
struct turns_told {
	struct turn_told *turn;
	uint32_t n;
};

/* Returns what the plan says about jobs other than the first of their row,
 * allocated in the arena. */
struct turns_told told_list(const struct snap *snap, const struct plan *plan,
                            struct arena *arena);

/* Returns the verdict on one job: a copy of `row`, the verdict on the job's
 * row, with the expected start and the position of this job. */
struct verdict told_verdict(const struct turns_told *told, uint64_t job,
                            const struct verdict *row);

#endif
