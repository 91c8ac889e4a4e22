/* lifecycle_tasks.c - add tasks to a running job, and remove them */
#include "aischedd/state/life/lifecycle_tasks.h"

#include <stdlib.h>

#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/lifecycle_end.h"
#include "aischedd/state/life/lifecycle_start.h"
#include "aischedd/state/life/lifecycle_stop.h"
#include "aischedd/state/state_priv.h"

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
	both = placement_join(job->leaving, lost);
	free(lost);
	free(job->leaving);
	job->leaving = both;
	job->resize++;
	evict_note(state, job, ev, false);
	evict_watch(state, job, ev->now);
	resized(state, job,
	        placement_part(job->place, ev->loss, ev->nlosses, true),
	        ev->now);
	return 0;
}

/* Remove evicted tasks that have ended from job->leaving. A report that answers
 * an earlier eviction of tasks is ignored. */
int life_shrunk(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	struct placement *was = job->leaving;

	(void)err;
	if (!was || (ev->resize && ev->resize != job->resize))
		return 0;
	job->leaving = NULL;
	if (ev->nlosses && ev->nlosses < was->ntasks)
		job->leaving = placement_rest(was, ev->nlosses);
	else
		job->leave_by = NO_TIME;
	free(was);
	state_touch(state, job);
	state_replan(state);
	return 0;
}

int life_grow(struct state *state, struct job *job, const struct event_in *ev,
              struct err *err)
{
	(void)err;
	claim_drop(state, job);
	resized(state, job, placement_join(job->place, ev->place), ev->now);
	return 0;
}

int life_replaced(struct state *state, struct job *job,
                  const struct event_in *ev, struct err *err)
{
	(void)err;
	if (ev->replaced <= job->replaced)
		return 0;
	job->replaced = ev->replaced;
	life_set_text(job, ev->text);
	state_touch(state, job);
	return 0;
}

/* --- after a restart: repeat effects that may have been lost ------------ */

static bool is_elastic(const struct job *job)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	return spec.min_tasks != SPEC_UNSET;
}

int life_found_running(struct state *state, struct job *job,
                       const struct event_in *ev, struct err *err)
{
	(void)err;
	/* The job's nodes may have another size than before the restart, which
	 * changes the job's charge. */
	usage_charge(state, job, ev->now);
	/* The runner may not know which tasks an elastic job has. The Job of an
	 * adopted job does not say where its tasks are. */
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
	(void)ev;
	(void)err;
	life_effect_stop(state, job);
	return 0;
}
