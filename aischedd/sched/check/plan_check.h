/*
 * plan_check.h - verify plans, without code of the planner
 */
#ifndef AISCHEDD_SCHED_CHECK_PLAN_CHECK_H
#define AISCHEDD_SCHED_CHECK_PLAN_CHECK_H

#include "aischedd/sched/plan.h"

/*
 * Verify a plan independently and naively: each row has one verdict, nothing is
 * given twice (CPU, GPU, memory, licence), gangs are whole, limits hold, no job
 * starts on a node that is down, not ready or forbidden, tasks have the NUMA
 * nodes and links that they demand. Fails with EINVAL and says what is wrong.
 */
int plan_check(const struct snap *snap, const struct plan *plan,
               struct err *err);

#endif
