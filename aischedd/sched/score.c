/* score.c - the order of the jobs that wait in a queue, as points */
#include "aischedd/sched/score.h"

enum { DAY_S = 86400, WAITED_MOST_S = 7 * DAY_S };

void snap_capacity(const struct snap *s, int64_t ret[RES_N])
{
	for (int r = 0; r < RES_N; r++)
		ret[r] = 0;
	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->node.state[i] == NODE_DOWN)
			continue;
		ret[RES_CPU] += s->node.cpu_total[i];
		ret[RES_MEM] += s->node.mem_total[i];
		ret[RES_GPU] += 1000 * (int64_t)(s->node.gpu_first[i + 1] -
		                                 s->node.gpu_first[i]);
	}
}

int64_t score_age(const struct snap_policy *policy, int64_t waited)
{
	if (waited < 0)
		waited = 0;
	if (waited > WAITED_MOST_S)
		waited = WAITED_MOST_S;
	return policy->age_weight * waited * 1000 / DAY_S;
}

/* The largest part of any one resource, in thousandths. */
static int64_t part_of(const int64_t ask[RES_N], const int64_t capacity[RES_N])
{
	int64_t most = 0;

	for (int r = 0; r < RES_N; r++) {
		int64_t part = capacity[r] ? ask[r] * 1000 / capacity[r] : 0;

		most = part > most ? part : most;
	}
	return most < 1000 ? most : 1000;
}

struct score score_make(const struct snap_policy *policy, int64_t priority,
                        int64_t waited, const int64_t ask[RES_N],
                        const int64_t capacity[RES_N], uint32_t light)
{
	return (struct score){
		.priority = priority * 1000,
		.age = score_age(policy, waited),
		.size = policy->size_weight * part_of(ask, capacity),
		.fair_share = policy->fairshare_weight * light,
	};
}
