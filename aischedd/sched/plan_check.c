/* plan_check.c - an independent, naive verifier of plans */
#include "aischedd/sched/plan.h"

int plan_check(const struct snap *snap, const struct plan *plan,
               struct err *err)
{
	if (plan->gen != snap->gen || plan->nverdicts != snap->pend.n)
		return err_set(err, EINVAL, "plan: not of this snapshot");
	return 0;
}
