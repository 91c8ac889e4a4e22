/*
 * forecast.h - when enough jobs end for those that wait
 *
 * Over what runs and what the plan starts: what waits now waits for both.
 */
#ifndef AISCHEDD_SCHED_FORECAST_H
#define AISCHEDD_SCHED_FORECAST_H

#include "aischedd/sched/place.h"
#include "aischedd/sched/plan.h"

/*
 * Complete the verdicts of a plan.  For the n rows, which wait for resources:
 * let jobs end one after the other at their time limits and write when the
 * row's first job would fit, and after whose end.  Jobs without a limit never
 * end here, and no job that waits takes what becomes free.  For the others
 * that name a node and what is short there: the job on that node that holds
 * some of it and ends first.
 *
 * Gives back what ended jobs hold in place->work: the pass must be over.
 */
void forecast(struct place *place, const struct plan *plan, const uint32_t *row,
              uint32_t n, struct verdict *verdict);

#endif
