/* mix.c - how many CPUs go with a GPU, in what runs and waits */
#include "aischedd/sched/mix.h"

#include "aischedd/sched/work.h"

typedef __int128 wide;

/* Above it a CPU hardly matters. */
static const int64_t WORTH_MOST = (int64_t)1 << 36;

int64_t mix_worth(const struct snap *s)
{
	int64_t cpus = 0, gpus = 0, worth;

	for (uint32_t i = 0; i < s->run.n; i++) {
		uint32_t req = s->run.req[i];

		if (!s->req.gpus[req])
			continue;
		cpus += run_ntasks(s, i) * s->req.cpus[req];
		gpus += run_ntasks(s, i) * s->req.gpus[req];
	}
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
