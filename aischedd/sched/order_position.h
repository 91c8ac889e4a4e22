/*
 * order_position.h - how many jobs of its queue wait before another
 *
 * When all had their turn: the place of the first waiting job of each row (0
 * where none waits) and of the others that are promised a start, from 1 on, in
 * the order in which they would be asked now.
 */
#ifndef AISCHEDD_SCHED_ORDER_POSITION_H
#define AISCHEDD_SCHED_ORDER_POSITION_H

#include "aischedd/sched/order.h"
#include "aischedd/sched/plan.h"

void order_position_find(const struct row_order *o, struct verdict *verdict,
                         struct promised *promised, uint32_t npromised,
                         struct arena *arena);

#endif
