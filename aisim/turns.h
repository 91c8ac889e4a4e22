/*
 * turns.h - promised jobs that others pass
 *
 * In each pass jobs have their turns one after the other, and a promise is kept
 * from those behind. If the order changes between two plans, jobs that are
 * passed may be promised later starts.
 */
#ifndef AISIM_TURNS_H
#define AISIM_TURNS_H

#include "aischedd/sched/plan.h"

struct sim;

/* Compare the turns of the plan with those of the last one. For each job that
 * is promised a later start now, note if a job before its turn, or it
 * itself, was passed. */
void turns_note(struct sim *sim, const struct snap *snap,
                const struct plan *plan);

#endif
