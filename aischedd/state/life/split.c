/* split.c - divide the record of an array's unstarted tasks */
#include "aischedd/state/life/split.h"

#include <string.h>

#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

/* Returns a copy of the record with a new id and no tasks. */
static struct job *sibling(struct state *state, const struct job *job)
{
	uint64_t id = state_take_ids(state, 1);
	struct job *copy = state_new_job(id);
	struct spec spec;

	*copy = *job;
	copy->id = id;
	copy->is_new = true;
	copy->dirty = false;
	copy->tasks = (struct idset){ 0 };
	copy->text = job->text ? xstrdup(job->text) : NULL;
	copy->acts = job->acts ? xstrdup(job->acts) : NULL;
	copy->ledger = NULL; /* these tasks have not started */
	spec_unpack(&spec, job->packed);
	copy->packed = spec_pack(&spec);
	copy->row = NULL;
	job_runs_copy(copy, job);
	copy->claim = NULL;
	copy->row_prev = copy->row_next = NULL;
	copy->all_prev = copy->all_next = NULL;
	copy->name_prev = copy->name_next = NULL;
	if (job->deps) {
		size_t size =
		    sizeof(*job->deps) + job->deps->n * sizeof(struct dep);

		copy->deps = xmalloc(size);
		memcpy(copy->deps, job->deps, size);
	}
	return copy;
}

static void add_sibling(struct state *state, struct job *job, struct job *copy)
{
	state_add_job(state, copy);
	state_arm(state, copy);
	deps_watch(state, copy);
	if (job->tasks.n) {
		state_count(state, job, 1);
		state_touch(state, job);
		row_count_again(state, job);
	} else {
		state_drop_job(state, job);
	}
}

struct job *state_split_task(struct state *state, struct job *job,
                             uint32_t task)
{
	struct job *copy = sibling(state, job);

	state_count(state, job, -1);
	idset_del(&job->tasks, task);
	copy->task = task;
	add_sibling(state, job, copy);
	return copy;
}

struct job *state_split(struct state *state, struct job *job,
                        const struct idset *which, int64_t now)
{
	uint32_t n = job_count(job), taken;
	struct idset set = { 0 };
	struct job *copy;

	if (job_state_is_final((enum job_state)job->state))
		/* not split: the record has ended, and is freed soon */
		return job;
	state_count(state, job, -1);
	idset_take(&job->tasks, which, &set);
	taken = set.n ? idset_count(&set) : 0;
	if (!taken || taken == n) {
		if (taken) {
			idset_free(&job->tasks);
			job->tasks = set;
		}
		state_count(state, job, 1);
		return taken ? job : NULL;
	}
	copy = sibling(state, job);
	if (taken == 1) {
		copy->task = idset_min(&set);
		idset_free(&set);
	} else {
		copy->tasks = set;
	}
	add_sibling(state, job, copy);
	state_reindex(state, copy, now);
	return copy;
}
