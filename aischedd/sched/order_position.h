/*
 * order_position.h - the position of waiting jobs in their queues
 *
 * Called when all rows have had their turn. Finds the position of the first
 * waiting job of each row (0 if none waits), of other jobs that are promised a
 * start, and of the next LINE_ROW waiting members of each row, at most LINE_MAX
 * in all. Positions count from 1, in the order in which jobs would be served
 * now.
 */
#ifndef AISCHEDD_SCHED_ORDER_POSITION_H
#define AISCHEDD_SCHED_ORDER_POSITION_H

#include "aischedd/sched/order.h"
#include "aischedd/sched/plan.h"

enum { LINE_ROW = 1000, LINE_MAX = 10000 };

/* Set the positions in verdict (by row) and in promised (struct promised), and
 * append further members to queued (struct queued). */
void order_position_find(const struct row_order *o, struct verdict *verdict,
                         const struct arena_list *promised,
                         struct arena_list *queued, struct arena *arena);

#endif
