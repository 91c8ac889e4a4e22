/*
 * claim.h - nodes held for jobs while others leave them
 *
 * Before anything else a pass sees to the claims of earlier ones: what fits by
 * now starts; what fits when those who were told to leave have left is held,
 * so that nobody else takes it; the rest is void, and such a job waits like
 * any other.
 */
#ifndef AISCHEDD_SCHED_CLAIM_H
#define AISCHEDD_SCHED_CLAIM_H

#include "aischedd/sched/pass.h"

void claim_settle(struct pass *p);

#endif
