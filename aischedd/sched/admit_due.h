/*
 * admit_due.h - what is limited goes to whom it is due
 *
 * Who waits for a limit, a count or a licence holds nobody back at first: the
 * others may use what is not enough for him.  When he has waited for too long
 * (hold_after, man aischedd.conf), whoever is behind him and would use some of
 * it waits, until he has it.
 */
#ifndef AISCHEDD_SCHED_ADMIT_DUE_H
#define AISCHEDD_SCHED_ADMIT_DUE_H

#include "aischedd/sched/pass.h"

/* The row's next job has waited for too long for the limit of this verdict. */
void due_add(struct pass *p, uint32_t row, const struct verdict *limit);

/* Whether this would use some of what is due to others: WHY_Priority, and the
 * job in *ret, or WHY_None. */
enum reason due_check(const struct pass *p, const struct demand *d,
                      struct verdict *ret);

#endif
