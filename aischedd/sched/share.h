/*
 * share.h - fair-share division: the part of the cluster that each queue may
 * use
 *
 * Done for each resource, from the root down. Each queue gets its quota, but no
 * more than it asks for. The rest is divided by weight among siblings, those of
 * the highest priority first, up to what they ask for; what a queue does not
 * need is divided again. Finally shares are rounded down to whole units, and
 * the left-over units go to the largest remainders; among equal remainders, to
 * the queue that comes first in the configuration. (The rules: man
 * aischedd.conf, "Fair share"; the method: Hamilton's apportionment over a
 * water-filling.) Pure; integers only.
 */
#ifndef AISCHEDD_SCHED_SHARE_H
#define AISCHEDD_SCHED_SHARE_H

#include "aischedd/sched/snap.h"

/*
 * ask: for leaf queues, what their jobs use and ask for; this function sums up
 * the others. capacity: the total to divide. ret: the shares; CONF_NONE if the
 * queue has no quota for the resource. ask and ret have a row for each queue.
 */
void share_divide(const struct snap_queues *queue, int64_t (*ask)[RES_N],
                  const int64_t capacity[RES_N], int64_t (*ret)[RES_N],
                  struct arena *arena);

#endif
