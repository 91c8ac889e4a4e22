/* queue.c - queues: open or closed, and their tree */
#include "aischedd/state/cluster/queue.h"

#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/state_priv.h"

bool queue_is_below(const struct conf *conf, uint32_t queue, uint32_t top)
{
	int q = (int)queue;

	while (q >= 0 && (uint32_t)q != top)
		q = conf->queues[q].parent;
	return q >= 0;
}

int queue_closed_by(const struct state *state, uint32_t queue)
{
	int q = (int)queue;

	while (q >= 0 && !state->queues.queue[q].closed)
		q = state->conf->queues[q].parent;
	return q;
}

void state_queue_set_open(struct state *state, uint32_t queue, bool open,
                          int64_t now)
{
	if (state->queues.queue[queue].closed == !open)
		return;
	state->queues.queue[queue].closed = !open;
	state->queues.dirty = true;
	if (state_queue_count(state, queue, false) >
	    state_queue_count(state, queue, true))
		sweep_begin(state, SWEEP_QUEUES, now);
}

bool state_queue_open(const struct state *state, uint32_t queue)
{
	return !state->queues.queue[queue].closed;
}

uint64_t state_queue_count(const struct state *state, uint32_t queue,
                           bool running)
{
	uint64_t n = running ? state->queues.queue[queue].running
	                     : state->queues.queue[queue].jobs;

	for (size_t i = queue + 1; i < state->conf->nqueues; i++)
		if (state->conf->queues[i].parent == (int)queue)
			n += state_queue_count(state, (uint32_t)i, running);
	return n;
}
