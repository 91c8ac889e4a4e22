/*
 * claim.h - nodes held for jobs until evicted jobs have ended there
 *
 * A pass first settles the claims of earlier plans. A claim that fits by now
 * becomes a start. A claim that will fit once the jobs being evicted have ended
 * is held, so that no other job takes the nodes. Any other claim is void, and
 * its job waits like the rest. A claim is also void if its job would be evicted
 * as soon as it starts (rehearse.h).
 */
#ifndef AISCHEDD_SCHED_CLAIM_H
#define AISCHEDD_SCHED_CLAIM_H

#include "aischedd/sched/pass.h"

void claim_settle(struct pass *p);

#endif
