/* order_score.c - the order of the jobs that wait in a queue, as points */
#include "aischedd/sched/order_score.h"

#include <stdlib.h>

enum {
	DAY_S = 86400,
	WAITED_MOST_S = 7 * DAY_S,
	LIGHT_EQUAL = 500 /* snap_pend.light of a user whose use is average */
};

/* PARTS: fractions are whole numbers of 1 / PARTS, which is less than one CPU
 * of the largest cluster. LONGEST_S: longer than any job. Their product does
 * not overflow. */
static const int64_t PARTS = (int64_t)1 << 26, LONGEST_S = (int64_t)1 << 36;

typedef __int128 wide;

int64_t order_score_age(const struct snap_policy *policy, int64_t waited)
{
	if (waited < 0 || policy->order != BY_POINTS)
		waited = 0;
	if (waited > WAITED_MOST_S)
		waited = WAITED_MOST_S;
	return policy->age_weight * waited * 1000 / DAY_S;
}

int64_t order_score_overdue(uint8_t order, int64_t hold_after)
{
	return order == BY_POINTS && hold_after != CONF_NONE
	           ? hold_after + WAITED_MOST_S
	           : hold_after;
}

/* Returns the max_wait of the queue or of its nearest ancestor that has one. */
static int64_t max_wait(const struct snap *s, uint32_t queue)
{
	for (; queue != SNAP_NONE; queue = s->queue.parent[queue]) {
		if (s->queue.max_wait[queue] != CONF_NONE)
			return s->queue.max_wait[queue];
	}
	return CONF_NONE;
}

int64_t order_score_hold(const struct snap *s, uint32_t queue)
{
	int64_t most = max_wait(s, queue);

	return most != CONF_NONE ? most : s->policy.hold_after;
}

int64_t order_score_overdue_in(const struct snap *s, uint32_t queue)
{
	int64_t most = max_wait(s, queue);

	return most != CONF_NONE
	           ? most
	           : order_score_overdue(s->policy.order, s->policy.hold_after);
}

/* Returns the largest fraction of the capacity that is asked for, over all
 * resources, in units of 1 / all. */
static int64_t part_of(const int64_t ask[RES_N], const int64_t capacity[RES_N],
                       int64_t all)
{
	int64_t most = 0;

	for (int r = 0; r < RES_N; r++) {
		int64_t have = ask[r] < capacity[r] ? ask[r] : capacity[r];
		int64_t part =
		    capacity[r] ? (int64_t)((wide)have * all / capacity[r]) : 0;

		most = part > most ? part : most;
	}
	return most;
}

bool order_score_is_above(const struct snap_policy *policy, uint32_t light)
{
	return policy->order == BY_POINTS && policy->fairshare_weight > 0 &&
	       light < LIGHT_EQUAL;
}

bool order_score_yields(const struct snap *s, uint32_t queue, uint32_t light)
{
	return order_score_is_above(&s->policy, light) &&
	       max_wait(s, queue) == CONF_NONE;
}

struct order_score order_score_make(const struct snap_policy *policy,
                                    int64_t priority, int64_t waited,
                                    const int64_t ask[RES_N],
                                    const int64_t capacity[RES_N],
                                    uint32_t light)
{
	struct order_score score = { .priority = priority * 1000 };

	if (policy->order != BY_POINTS)
		return score;
	score.age = order_score_age(policy, waited);
	score.size = policy->size_weight * part_of(ask, capacity, 1000);
	score.fair_share = policy->fairshare_weight * light;
	if (order_score_is_above(policy, light))
		score.fair_share -= order_score_age(policy, WAITED_MOST_S);
	return score;
}

int64_t order_score_rank(const struct snap_policy *policy, int64_t length,
                         const int64_t ask[RES_N],
                         const int64_t capacity[RES_N])
{
	if (length == SNAP_NEVER || length > LONGEST_S)
		length = LONGEST_S;
	switch ((enum job_order)policy->order) {
	case BY_POINTS:
		return 0;
	case BY_TIME:
		return length;
	case BY_AREA:
	case BY_SERVED:
	case BY_REST:
		return length * part_of(ask, capacity, PARTS);
	}
	abort();
}
