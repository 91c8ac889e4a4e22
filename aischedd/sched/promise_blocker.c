/* promise_blocker.c - who is in the way on a node */
#include "aischedd/sched/future_walk.h"

#include "aischedd/sched/verdict.h"

static void lowest(uint64_t *job, uint64_t other)
{
	if (!*job || other < *job)
		*job = other;
}

uint64_t ahead_ends(struct ahead *a, uint32_t node, int64_t at)
{
	const struct view *v = &a->view[node];
	const struct stays *st = ahead_stays(a);
	uint64_t job = 0;

	for (uint32_t i = st->first[node]; i < st->first[node + 1]; i++) {
		const struct stay *it = &st->stay[i];

		if (it->end == at || (a->gone[it->task] && at == a->s->now))
			lowest(&job, a->s->run.job[it->run]);
	}
	for (uint32_t i = v->added; i; i = added_at(a, i)->next) {
		if (added_at(a, i)->end == at)
			lowest(&job, added_at(a, i)->job);
	}
	for (const struct due *d = v->due; d && !job; d = d->next) {
		if (d->end == at && d->resv == SNAP_NONE)
			job = d->job;
	}
	return job;
}

static bool holds(const struct snap *s, uint32_t req, bool suspended,
                  int64_t what)
{
	if (what == RES_GPU)
		return s->req.gpus[req];
	if (what == RES_MEM)
		return s->req.mem[req];
	if (what == WHAT_SLOT)
		return true;
	return s->req.cpus[req] && !suspended;
}

uint64_t ahead_blocker(struct ahead *a, uint32_t node, int64_t what)
{
	const struct snap *s = a->s;
	const struct stays *st = ahead_stays(a);
	int64_t first = SNAP_NEVER;
	uint64_t job = 0;

	for (uint32_t i = st->first[node]; i < st->first[node + 1]; i++) {
		uint32_t run = st->stay[i].run;
		int64_t end = st->stay[i].end;

		if (!holds(s, s->run.req[run], s->run.suspended[run], what))
			continue;
		if (!job || ends_before(end, first) ||
		    (end == first && s->run.job[run] < job)) {
			first = end;
			job = s->run.job[run];
		}
	}
	for (uint32_t i = a->view[node].added; i; i = added_at(a, i)->next) {
		const struct added *it = added_at(a, i);

		if (!holds(s, it->req, false, what))
			continue;
		if (!job || ends_before(it->end, first) ||
		    (it->end == first && it->job < job)) {
			first = it->end;
			job = it->job;
		}
	}
	return job;
}
