/*
 * share.h - what each queue may call its own: fair-share division
 *
 * Per resource, top down: each queue gets its quota as far as it asks for it.
 * The rest goes to siblings of the highest priority first, by weight, as far as
 * they ask; what one does not need is divided again.  In the end shares are
 * rounded down to whole units, and the odd units go to the largest remainders,
 * ties in file order.  (The rules: man aischedd.conf, "Fair
 * share"; the method: Hamilton's apportionment over a water-filling.)
 *
 * Pure; integers only.
 */
#ifndef AISCHEDD_SCHED_SHARE_H
#define AISCHEDD_SCHED_SHARE_H

#include "aischedd/sched/snap.h"

/*
 * ask: for leaf queues, what they run and want to run; that of other queues is
 * summed up here. capacity: all there is to divide. ret: CONF_NONE where the
 * queue does not ration the resource. ask and ret have a row for each queue.
 */
void share_divide(const struct snap_queues *queue, int64_t (*ask)[RES_N],
                  const int64_t capacity[RES_N], int64_t (*ret)[RES_N],
                  struct arena *arena);

#endif
