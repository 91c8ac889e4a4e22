/* verdict.c - why a job waits, as a sentence */
#include "aischedd/sched/plan.h"

void verdict_text(const struct snap *snap, uint32_t row,
                  const struct verdict *v, struct buf *out)
{
	(void)snap, (void)row;
	buf_puts(out, reason_text(v->why));
}
