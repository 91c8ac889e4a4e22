/*
 * lists.h - check that the lists of a plan agree with each other and with the
 * snapshot
 */
#ifndef AISCHEDD_SCHED_CHECK_LISTS_H
#define AISCHEDD_SCHED_CHECK_LISTS_H

#include "aischedd/sched/check/audit.h"

int check_bad(const struct audit *a, uint64_t job, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct party check_claimant(const struct audit *a, const struct plan_claim *c);

/* Returns the claim of a job for which other jobs are evicted, or NULL. */
const struct plan_claim *check_claim_of(const struct audit *a, uint64_t job);

#endif
