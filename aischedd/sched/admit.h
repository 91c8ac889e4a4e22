/*
 * admit.h - limits that have nothing to do with nodes
 *
 * Limits of a queue and all its ancestors on resources and on running jobs,
 * of a user in them, and licences.
 */
#ifndef AISCHEDD_SCHED_ADMIT_H
#define AISCHEDD_SCHED_ADMIT_H

#include "aischedd/sched/plan.h"
#include "aischedd/sched/work.h"

/* Both return WHY_None, or a reason and its numbers in *ret (why.h). */

/* May a job of the row ever start, whatever else runs? */
enum reason admit_ever(const struct snap *snap, uint32_t row,
                       struct verdict *ret);

/* May it start now? */
enum reason admit_now(struct work *w, uint32_t row, struct verdict *ret);

/* A job of the row starts: count it. */
void admit_charge(struct work *w, uint32_t row);

#endif
