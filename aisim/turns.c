/* turns.c - note promised jobs that other jobs pass */
#include "aisim/turns.h"

#include "aisim/sim.h"

/* The first n turns of a plan, and whether they differ, in jobs or in order,
 * from the first n turns of the last plan. */
struct turns {
	struct sim *sim;
	uint32_t n;
	bool changed;
};

static struct job_stats *stats_of(struct sim *sim, uint64_t job)
{
	return &sim->job[job - 1].stats;
}

static bool was_told(const struct sim *sim, const struct job_stats *job)
{
	return job->told_in && job->told_in + 1 == sim->stats.nplans;
}

/* Look at the next turn. A job without a promise in the last plan had a turn
 * behind all promised jobs. */
static void look(struct turns *t, const struct job_stats *job)
{
	t->changed |= !was_told(t->sim, job) || job->turn != t->n;
	t->n++;
}

/* Look at a job that starts, unless an earlier plan decided that. */
static void look_at_start(struct turns *t, const struct snap *s,
                          const struct start *start)
{
	const struct snap_pend *p = &s->pend;

	if (p->claim_first[start->row] == p->claim_first[start->row + 1])
		look(t, stats_of(t->sim, s->member[start->member].job));
}

void turns_note(struct sim *sim, const struct snap *snap,
                const struct plan *plan)
{
	struct turns t = { .sim = sim };
	uint32_t start = 0;

	sim->stats.nplans++;
	for (uint32_t i = 0; i < plan->npromises; i++) {
		struct job_stats *job = stats_of(sim, plan->promise[i].job);

		for (; start < plan->starts_before[i]; start++)
			look_at_start(&t, snap, &plan->start[start]);
		look(&t, job);
		if (!was_told(sim, job) || plan->promise[i].start <= job->told)
			continue;
		job->passed |= t.changed;
		job->slipped |= !t.changed;
	}
	for (uint32_t i = 0; i < plan->npromises; i++) {
		struct job_stats *job = stats_of(sim, plan->promise[i].job);

		job->told = plan->promise[i].start;
		job->told_in = sim->stats.nplans;
		job->turn = i;
	}
}
