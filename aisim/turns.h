/*
 * turns.h - note promised jobs that other jobs overtake
 *
 * The scheduler considers jobs in order, each in its turn. The start promised
 * to a job cannot be delayed by jobs with later turns. If the order changes
 * between two plans, jobs that are overtaken may be promised later starts.
 */
#ifndef AISIM_TURNS_H
#define AISIM_TURNS_H

#include "aischedd/sched/plan.h"

struct sim;

/* Compare the turns of the plan with those of the last one. For each job that
 * is now promised a later start, note whether other jobs passed it, or passed a
 * job with an earlier turn. */
void turns_note(struct sim *sim, const struct snap *snap,
                const struct plan *plan);

#endif
