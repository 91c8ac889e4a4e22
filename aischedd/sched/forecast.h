/*
 * forecast.h - when enough running jobs end for those that wait
 */
#ifndef AISCHEDD_SCHED_FORECAST_H
#define AISCHEDD_SCHED_FORECAST_H

#include "aischedd/sched/place.h"
#include "aischedd/sched/plan.h"

/*
 * For the n rows, which wait for resources: let the running jobs end one
 * after the other at their time limits and write into the verdict of each
 * row when its first job would fit, and after whose end.  Jobs without a
 * limit never end here, and no job that waits takes what becomes free.
 * Gives back what ended jobs hold in p->work: the pass must be over.
 */
void forecast_rows(struct place *p, const uint32_t *row, uint32_t n,
                   struct verdict *verdict);

/*
 * For verdicts that name a node and what is short there, and no job yet: the
 * job on that node that holds some of it and ends first.
 */
void forecast_blockers(const struct snap *snap, struct verdict *verdict,
                       struct arena *arena);

#endif
