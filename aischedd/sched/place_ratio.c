/* place_ratio.c - how many CPUs go with a GPU, in what runs and waits */
#include "aischedd/sched/place_ratio.h"

typedef __int128 wide;

/* Above it a CPU hardly matters. */
static const int64_t WORTH_MOST = (int64_t)1 << 36;

int64_t mix_worth(const struct snap *s, const struct tally *tally)
{
	int64_t cpus = tally->cpus, gpus = tally->gpus, worth;

	for (uint32_t i = 0; i < s->pend.n; i++) {
		uint32_t req = s->pend.req[i];
		int64_t n =
		    s->pend.member_first[i + 1] - s->pend.member_first[i];

		if (!s->req.gpus[req])
			continue;
		cpus += n * s->req.tasks[req] * s->req.cpus[req];
		gpus += n * s->req.tasks[req] * s->req.gpus[req];
	}
	if (!cpus)
		return 0;
	worth = (int64_t)(((wide)gpus << 20) / cpus);
	return worth < WORTH_MOST ? worth : WORTH_MOST;
}
