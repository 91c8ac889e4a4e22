/* what_if.c - plans of what might be */
#include "aischedd/state/what_if.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/verdict.h"
#include "aischedd/state/depend.h"
#include "aischedd/state/row.h"
#include "aischedd/state/snapshot.h"
#include "aischedd/state/state_priv.h"
#include "aischedd/state/submit.h"
#include "aischedd/state/why.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"

/* --- what if ----------------------------------------------------------- */

/* Where the jobs of the plan's last row go. */
static void last_row_nodes(const struct state *state, const struct plan *plan,
                           struct buf *out)
{
	const char **name = NULL;
	size_t n = 0, cap = 0;

	for (uint32_t i = 0; i < plan->nstarts; i++) {
		const struct start *s = &plan->start[i];
		const struct snap_task *task = &plan->task[s->task_first];

		if (s->row != plan->nverdicts - 1)
			continue;
		for (uint32_t t = 0; t < s->ntasks; t++) {
			name = GROW(name, n, &cap);
			name[n++] = state->nodes.node[task[t].node].name;
		}
	}
	hostlist_format(name, n, out);
	free(name);
}

/* Who would leave for the job, wholly or in part; once each. */
static void evicted_for(const struct snap *snap, const struct plan *plan,
                        uint64_t job, struct what_if *ret)
{
	ret->evict = xcalloc(plan->nevictions + 1, sizeof(*ret->evict));
	for (uint32_t i = 0; i < plan->nevictions; i++)
		if (plan->eviction[i].by == job)
			ret->evict[ret->nevicts++] =
			    snap->run.job[plan->eviction[i].run];
}

static void try_plan(struct state *state, const struct job *job, int64_t now,
                     struct what_if *ret, struct buf *text)
{
	struct arena *arena = arena_new();
	const struct snap *snap = snap_build(state, now, arena, job, false);
	uint32_t row = snap->pend.n - 1;
	const struct plan *plan = sched_plan_asked(snap, row, arena);
	const struct verdict *v = &plan->verdict[row];

	ret->starts = v->started > 0;
	ret->why = v->why;
	if (ret->starts)
		ret->expected = now;
	else if (v->expected != SNAP_NEVER)
		ret->expected = v->expected;
	last_row_nodes(state, plan, &ret->nodes);
	evicted_for(snap, plan, job->id, ret);
	if (!ret->starts)
		verdict_text(snap, row, v, text);
	arena_free(arena);
}

void state_test_submit(struct state *state, const struct spec *spec,
                       const struct submitter *who, uint32_t queue, int64_t now,
                       struct what_if *ret, struct buf *text)
{
	struct job *job =
	    state_make_job(state, spec, who, queue, state->next_id, now);
	uint32_t position;

	*ret = (struct what_if){ .expected = NO_TIME };
	if (spec->dependency &&
	    deps_parse(state, spec->dependency, &job->deps, NULL) < 0)
		abort(); /* it was checked */
	if (job->deps)
		deps_try(state, job, now);
	if (state_ineligible(state, job) == WHY_None)
		try_plan(state, job, now, ret, text);
	else
		ret->why =
		    state_why(state, job, now, text, &ret->expected, &position);
	job_free(job);
}

/* --- fits at all? ------------------------------------------------------ */

enum { FITS_MAX = 4096 };

static bool all_ready(const struct state *state, uint64_t pools)
{
	for (size_t i = 0; i < state->conf->npools; i++)
		if (pools >> i & 1 && !state->pools.ready[i])
			return false;
	return true;
}

int state_check_fit(struct state *state, const struct job *job, struct err *err)
{
	struct buf key = { 0 };
	struct row_key shape;
	struct arena *arena;
	uint64_t hash;
	int result = 0;

	row_key_build(state, job, &key);
	memcpy(&shape, key.data, sizeof(shape));
	/* How long it runs and whose it is are all the same. */
	shape.time_limit = 0;
	memset(&shape.user, 0, sizeof(shape) - offsetof(struct row_key, user));
	hash = hash_bytes(2, &shape, sizeof(shape));
	hash =
	    hash_bytes(hash, key.data + sizeof(shape), key.len - sizeof(shape));
	buf_free(&key);
	if (!all_ready(state, shape.pools) ||
	    map_find(&state->nodes.fits, hash))
		return 0;
	arena = arena_new();
	result =
	    sched_could_fit(snap_build(state, 0, arena, job, true), 0, err);
	arena_free(arena);
	if (result < 0)
		return -1;
	if (state->nodes.fits.n == FITS_MAX)
		map_free(&state->nodes.fits);
	map_set(&state->nodes.fits, hash, state);
	return 0;
}
