/* lifecycle_tasks.c - add tasks to a running job, and remove them */
#include "aischedd/state/life/lifecycle_tasks.h"

#include <stdlib.h>

#include "aischedd/state/cluster/counts.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/lifecycle_end.h"
#include "aischedd/state/life/lifecycle_start.h"
#include "aischedd/state/life/lifecycle_stop.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

static void effect_resize(struct state *state, const struct job *job)
{
	state_effect(state, (struct effect){ .kind = EFFECT_RESIZE,
	                                     .job = job->id,
	                                     .attempt = job->attempt });
}

/* Replace the job's placement after tasks were added or evicted, and tell
 * the runner. */
static void resized(struct state *state, struct job *job,
                    struct placement *place, int64_t now)
{
	free(job->place);
	job->place = place;
	life_count_nodes(state, job);
	usage_charge(state, job, now);
	state_touch(state, job);
	state_replan(state);
	effect_resize(state, job);
}

int life_shrink(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	struct placement *lost, *both;

	(void)err;
	if (!ev->nlosses)
		return 0;
	lost = placement_part(job->place, ev->loss, ev->nlosses, false);
	both = placement_join(job->runs->leaving, lost);
	free(lost);
	free(job->runs->leaving);
	job_runs(job)->leaving = both;
	job_runs(job)->resize++;
	evict_note(state, job, ev, false);
	evict_watch(state, job, ev->now);
	resized(state, job,
	        placement_part(job->place, ev->loss, ev->nlosses, true),
	        ev->now);
	return 0;
}

/* Remove evicted tasks that have ended from job->runs->leaving. A report that
 * answers an earlier eviction of tasks is ignored. */
int life_shrunk(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	struct placement *was = job->runs->leaving;

	(void)err;
	if (!was || (ev->resize && ev->resize != job->runs->resize))
		return 0;
	job_runs(job)->leaving = NULL;
	if (ev->nlosses && ev->nlosses < was->ntasks)
		job_runs(job)->leaving = placement_rest(was, ev->nlosses);
	else
		job_runs(job)->leave_by = NO_TIME;
	free(was);
	state_touch(state, job);
	state_replan(state);
	return 0;
}

int life_grow(struct state *state, struct job *job, const struct event_in *ev,
              struct err *err)
{
	struct placement *more;

	(void)err;
	claim_drop(state, job);
	more = devices_give(state, job, placement_copy(ev->place));
	resized(state, job, placement_join(job->place, more), ev->now);
	free(more);
	return 0;
}

int life_replaced(struct state *state, struct job *job,
                  const struct event_in *ev, struct err *err)
{
	(void)err;
	if (ev->replaced <= job->runs->replaced)
		return 0;
	job_runs(job)->replaced = ev->replaced;
	life_set_text(job, ev->text);
	state_touch(state, job);
	return 0;
}

/* --- tasks that are lost with their nodes --------------------------------- */

/* Returns the index of a task on this node that has these GPUs (0: they are not
 * known) and is not marked as lost; SNAP_NONE: there is none. */
static uint32_t find_task(const struct state *state, const struct job *job,
                          const char *node, uint64_t gpus, const bool *lost)
{
	const struct placement *p = job->place;
	uint32_t pool = state->nodes.node[p->task[0].node].pool;
	int at = state_node_of(state, pool, node);

	for (uint32_t i = 0; i < p->ntasks; i++) {
		uint64_t has = p->task[i].gpus;

		if ((int)p->task[i].node == at && !lost[i] &&
		    (!gpus || !has || gpus == has))
			return i;
	}
	return SNAP_NONE;
}

/* Set ret to the indexes of the lost tasks, ascending. Returns their number. */
static uint32_t find_lost(const struct state *state, const struct job *job,
                          const struct event_in *ev, uint32_t *ret)
{
	bool *lost = xcalloc(job->place->ntasks, sizeof(*lost));
	uint32_t n = 0;

	for (size_t i = 0; i < ev->nodes.n; i++) {
		uint32_t at =
		    find_task(state, job, ev->nodes.s[i], ev->gpus[i], lost);

		if (at != SNAP_NONE)
			lost[at] = true;
	}
	for (uint32_t i = 0; i < job->place->ntasks; i++)
		if (lost[i])
			ret[n++] = i;
	free(lost);
	return n;
}

/* Remove lost tasks from the placement; the next plan may add tasks again. If
 * the report is older than the last eviction of tasks, nothing is removed,
 * because the lost tasks may be the evicted ones. In any case tell the runner
 * which tasks the job has now: the runner waits for an answer. */
int life_tasks_lost(struct state *state, struct job *job,
                    const struct event_in *ev, struct err *err)
{
	uint32_t *lost = xcalloc(job->place->ntasks, sizeof(*lost));
	uint32_t n = 0;

	(void)err;
	if (ev->resize == job->runs->resize)
		n = find_lost(state, job, ev, lost);
	if (ev->refused.n) {
		nodes_blame(state, job, &ev->refused, ev->now);
		refusals_note(state, job, &ev->refused, ev->now);
	}
	if (n && n < job->place->ntasks) {
		counts_evicted(state, job, EVICT_NODE_DOWN);
		life_set_text(job, ev->text);
		job_runs(job)->resize++;
		resized(state, job, placement_part(job->place, lost, n, true),
		        ev->now);
	} else {
		effect_resize(state, job);
	}
	free(lost);
	return 0;
}

/* --- after a restart: repeat effects that may have been lost ------------ */

/* Whether tasks of the job may have been added or removed. */
static bool is_elastic(const struct job *job)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	return spec.min_tasks != SPEC_UNSET || spec_loss(&spec).least;
}

int life_found_running(struct state *state, struct job *job,
                       const struct event_in *ev, struct err *err)
{
	(void)err;
	life_found_in(state, job, ev->space);
	/* The job's nodes may have another size than before the restart, which
	 * changes the job's charge. */
	usage_charge(state, job, ev->now);
	/* Tell the runner where the job's tasks are: it may not know this of an
	 * elastic job, and the Job of an adopted job does not say it. */
	if (is_elastic(job) || job->adopted)
		effect_resize(state, job);
	if (ev->suspended)
		life_effect_suspend(state, job, EFFECT_RESUME);
	return 0;
}

int life_found_suspended(struct state *state, struct job *job,
                         const struct event_in *ev, struct err *err)
{
	(void)err;
	if (is_elastic(job))
		effect_resize(state, job);
	if (!ev->suspended)
		life_effect_suspend(state, job, EFFECT_SUSPEND);
	return 0;
}

int life_found_completing(struct state *state, struct job *job,
                          const struct event_in *ev, struct err *err)
{
	(void)err;
	life_found_in(state, job, ev->space);
	life_effect_stop(state, job);
	return 0;
}
