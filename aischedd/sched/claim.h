/*
 * claim.h - nodes held for jobs until evicted jobs have ended there
 *
 * A pass settles the claims of earlier plans first.  A claim that fits by now
 * becomes a start.  One that will fit once the jobs being evicted have ended is
 * held, so that no other job takes the nodes.  Any other is void, and its job
 * waits like the rest; so is one whose job would be evicted as soon as it
 * starts (rehearse.h).
 */
#ifndef AISCHEDD_SCHED_CLAIM_H
#define AISCHEDD_SCHED_CLAIM_H

#include "aischedd/sched/pass.h"

void claim_settle(struct pass *p);

#endif
