/* sweep.c - look again at many waiting jobs, in slices */
#include "aischedd/state/pass/sweep.h"

#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/steps.h"

enum {
	STEPS_ROW = 12, /* to look up the row of a job */
	STEPS_SWEEP = STEPS_SLICE / 4
};

void sweep_init(struct sweep *sweep)
{
	*sweep = (struct sweep){ .left = STEPS_SWEEP };
}

bool state_is_sweeping(const struct state *state)
{
	return state->sweep.what != 0;
}

void sweep_count(struct state *state, const struct job *job, uint64_t n)
{
	state->sweep.nreserved += job->reserved ? n : 0;
	state->sweep.nclaims += job->claims ? n : 0;
	state->sweep.naligned += job->aligned ? n : 0;
}

/* Whether the queue of the job was closed or opened. */
static bool is_queue_new(const struct state *state, const struct job *job)
{
	bool closed = queue_closed_by(state, job->queue) >= 0;

	return closed != (job->aside == WHY_QueueClosed);
}

static bool is_meant(const struct state *state, const struct job *job)
{
	unsigned what = state->sweep.what;

	return what & (SWEEP_ALL | SWEEP_PENDING) ||
	       (what & SWEEP_RESERVED && job->reserved) ||
	       (what & SWEEP_CLAIMS && job->claims) ||
	       (what & SWEEP_ALIGNED && job->aligned) ||
	       (what & SWEEP_RETRIES && job->runs->retry_at != NO_TIME) ||
	       (what & SWEEP_QUEUES && is_queue_new(state, job));
}

/* Adapt a job that holds nodes to the configuration. Prices may have changed:
 * book what the job has held so far at the old prices. */
static void adapt_placed(struct state *state, struct job *job)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	job_set_manners(state, job, &spec);
	placed_key_forget(state, job);
	ledger_book(state, job, state->sweep.now);
	steps_add(STEPS_ROW);
}

static void look_at(struct state *state, struct job *job)
{
	const struct sweep *s = &state->sweep;
	struct spec spec;

	steps_add(1);
	if (job->place && s->what & SWEEP_ALL)
		adapt_placed(state, job);
	if (job->state != JOB_PENDING || job->place || !is_meant(state, job))
		return;
	if (s->what & SWEEP_ALL) {
		spec_unpack(&spec, job->packed);
		job_set_manners(state, job, &spec);
	}
	if (s->what & SWEEP_RETRIES && job->runs->retry_at != NO_TIME) {
		job_runs(job)->retry_at = NO_TIME;
		state_touch(state, job);
	}
	state_reindex(state, job, s->now == NO_TIME ? job->submit : s->now);
	steps_add(STEPS_ROW);
}

/* Begin the sweep that is due. */
static void start(struct state *state)
{
	struct sweep *s = &state->sweep;

	s->what = s->next;
	s->next = 0;
	s->at = state->records.first;
	s->planned = false;
}

static void go_on(struct state *state)
{
	struct sweep *s = &state->sweep;
	uint64_t until = steps_so_far + s->left;

	while (s->what && steps_so_far < until) {
		struct job *job = s->at;

		if (job) {
			s->at = job->all_next;
			look_at(state, job);
			continue;
		}
		s->what = 0;
		/* Any other sweep begins after a pass, as events that keep
		 * coming would else put passes off without end. But now rows
		 * may have old numbers of queues. */
		if (s->next & SWEEP_ALL)
			start(state);
	}
	s->left = steps_so_far < until ? until - steps_so_far : 0;
}

bool sweep_is_due(const struct state *state)
{
	const struct sweep *s = &state->sweep;

	return s->what || (s->next && s->planned);
}

void sweep_begin(struct state *state, unsigned what, int64_t now)
{
	struct sweep *s = &state->sweep;
	bool waits = !s->what && s->next && !(what & SWEEP_ALL);

	if ((what == SWEEP_RESERVED && !s->nreserved) ||
	    (what == SWEEP_CLAIMS && !s->nclaims) ||
	    (what == SWEEP_ALIGNED && !s->naligned))
		return;
	if (now != NO_TIME || !s->what)
		s->now = now;
	s->next |= what;
	if (waits)
		return; /* for a pass */
	if (!s->what)
		start(state);
	go_on(state);
	if (!s->what)
		return;
	state->gen++; /* of a plan that is being made, nothing is applied */
	state_replan(state);
}

void sweep_planned(struct state *state)
{
	state->sweep.planned = true;
}

void sweep_tick(struct state *state)
{
	state->sweep.left = STEPS_SWEEP;
	if (!state->sweep.what && sweep_is_due(state)) {
		start(state);
		state->gen++;
		state_replan(state);
	}
	go_on(state);
}

void sweep_skip(struct state *state, const struct job *job)
{
	if (state->sweep.at == job)
		state->sweep.at = job->all_next;
}
