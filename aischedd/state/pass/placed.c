/* placed.c - what snapshots say about the jobs that hold nodes */
#include "aischedd/state/pass/placed.h"

#include <stdlib.h>

#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/lifecycle_stop.h"
#include "aischedd/state/pass/snap_job.h"
#include "aischedd/state/pass/snap_node.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

#include "aischedd/sched/snap.h"

void placed_add(struct state *state, struct job *job)
{
	struct placed_list *list = &state->placed;

	list->run = GROW(list->run, list->n, &list->cap);
	list->run[list->n++] = (struct placed_run){ .job = job, .stale = true };
	job_runs(job)->placed_at = (uint32_t)list->n;
	list->moves++;
}

void placed_drop(struct state *state, struct job *job)
{
	if (!job->runs->placed_at)
		return;
	node_frame_give(&state->nodes,
	                &state->placed.run[job->runs->placed_at - 1]);
	state->placed.run[job->runs->placed_at - 1].job = NULL;
	state->placed.ngone++;
	state->placed.moves++;
	job_runs(job)->placed_at = 0;
}

void placed_free(struct state *state)
{
	for (size_t i = 0; i < state->placed.n; i++)
		node_frame_give(&state->nodes, &state->placed.run[i]);
	free(state->placed.run);
	run_frame_drop(&state->placed);
}

void placed_changed(struct state *state, const struct job *job)
{
	if (!job->runs->placed_at)
		return;
	state->placed.run[job->runs->placed_at - 1].stale = true;
	state->placed.moves++;
}

void placed_keep(struct state *state)
{
	if (state->placed.gen == state->gen)
		state->placed.gen++;
}

void placed_all_changed(struct state *state)
{
	state->placed.gen = 0;
}

static bool is_freezable(const struct state *state, const struct job *job)
{
	return job->on_preempt == PREEMPT_SUSPEND && job_can_freeze(state, job);
}

/* Returns how many seconds the job had waited when it started; 0 for an
 * adopted job. */
static int64_t waited(const struct job *job)
{
	return job->eligible != NO_TIME && job->runs->start > job->eligible
	           ? job->runs->start - job->eligible
	           : 0;
}

static uint32_t count_uses(const struct placement *p)
{
	return p ? p->task[p->ntasks].cpu_first : 0;
}

static void copy_job(struct state *state, struct placed_run *run)
{
	const struct placement *leaving = run->job->runs->leaving;
	struct job *job = run->job;
	int64_t due = job_due(job);
	bool suspended = job->state == JOB_SUSPENDED;

	node_frame_give(&state->nodes, run);
	*run = (struct placed_run){
		.job = job,
		.key = placed_key(state, job),
		.place = job->place,
		.leaving = leaving,
		.ntasks = job->place->ntasks + (leaving ? leaving->ntasks : 0),
		.nuse = count_uses(job->place) + count_uses(leaving),
		.id = job->id,
		.priority = job->priority,
		.start = job->runs->start,
		.end = due == NO_TIME ? SNAP_NEVER : due,
		.safe = evict_safe_until(state, job),
		.waited = waited(job),
		.ran = suspended ? job->runs->ran : 0,
		.queue = job->queue,
		.user = job->user,
		.suspended = suspended,
		.preemptible = job->preemptible,
		.ending = evict_is_ending(job),
		.freezable = is_freezable(state, job),
		.resumes = job->wants_resume,
		.claims = job->claim != NULL,
	};
	node_frame_take(&state->nodes, run);
}

/* Remove the entries of jobs that no longer hold nodes. */
static void close_gaps(struct placed_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (!list->run[i].job)
			continue;
		list->run[n++] = list->run[i];
		job_runs(list->run[n - 1].job)->placed_at = (uint32_t)n;
	}
	list->n = n;
	list->ngone = 0;
}

const struct placed_run *placed_runs(struct state *state, size_t *ret_n)
{
	struct placed_list *list = &state->placed;
	bool all = list->gen != state->gen + 1;

	list->moves += all;
	*ret_n = list->n;
	if (list->copied == list->moves)
		return list->run;
	/* Each entry that moves costs a look at its job: do not do that for
	 * each job that ends. */
	if (list->ngone > list->n / 8)
		close_gaps(list);
	for (size_t i = 0; i < list->n; i++)
		if (list->run[i].job && (all || list->run[i].stale))
			copy_job(state, &list->run[i]);
	list->gen = state->gen + 1;
	list->copied = list->moves;
	*ret_n = list->n;
	return list->run;
}

bool placed_may_change(struct state *state)
{
	size_t n;
	const struct placed_run *run = placed_runs(state, &n);

	for (size_t i = 0; i < n; i++) {
		const struct row_key *key;

		if (!run[i].job)
			continue;
		key = (const void *)run[i].key->text;
		if (run[i].resumes || run[i].claims ||
		    key->min_tasks < key->tasks)
			return true;
	}
	return false;
}
