/*
 * told.h - what a plan says about jobs that are not the first of their row
 */
#ifndef AISCHEDD_STATE_PASS_TOLD_H
#define AISCHEDD_STATE_PASS_TOLD_H

#include "aischedd/sched/plan.h"

/* When the job starts (SNAP_NEVER: not known), and which job it waits for. */
struct turn_told {
	uint64_t job, behind;
	int64_t expected;
	uint32_t position;
};

/* Sorted by job; only those that are not the first of their row. */
struct turns_told {
	struct turn_told *turn;
	uint32_t n;
};

/* List what the plan says about single jobs, in the arena. */
struct turns_told told_list(const struct snap *snap, const struct plan *plan,
                            struct arena *arena);

/* Returns the verdict on a job, given that of its row. */
struct verdict told_verdict(const struct turns_told *told, uint64_t job,
                            const struct verdict *row);

#endif
