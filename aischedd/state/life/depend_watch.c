/* depend_watch.c - which dependencies to judge when a job starts or ends */
#include "aischedd/state/life/depend_watch.h"

#include <stdlib.h>

#include "aischedd/state/life/depend.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

struct dep_watch {
	struct dep_watch *prev, *next;
	/* the map that has the first entry of this list, by `key` */
	struct map *map;
	uint64_t key;
	uint64_t job; /* the job that waits */
};

/* Returns the map and the key of the list to which the condition belongs. A job
 * has one list; an array has one, and another one for aftercorr conditions;
 * each task of an array has one. If a condition names a task of a job that is
 * not an array, the task is ignored. */
static struct map *list_of(struct state *state, const struct dep *dep,
                           uint64_t *ret_key)
{
	bool array = state_array(state, dep->job) != NULL;

	*ret_key = dep->job;
	if (array && dep->kind == DEP_CORR)
		return &state->watches.corr;
	if (!array || dep->task == NO_TASK)
		return &state->watches.jobs;
	*ret_key = task_key(dep->job, dep->task);
	return &state->watches.tasks;
}

void dep_watch(struct state *state, struct dep *dep, uint64_t job)
{
	struct dep_watch *w = xmalloc(sizeof(*w)), *first;
	uint64_t key;
	struct map *map = list_of(state, dep, &key);

	first = map_find(map, key);
	*w = (struct dep_watch){
		.next = first, .map = map, .key = key, .job = job
	};
	if (first)
		first->prev = w;
	map_set(map, key, w);
	dep->watch = w;
}

void dep_unwatch(struct state *state, struct dep *dep)
{
	struct dep_watch *w = dep->watch;

	dep->watch = NULL;
	if (!w)
		return;
	if (state->watches.next == w)
		state->watches.next = w->next;
	if (w->next)
		w->next->prev = w->prev;
	if (w->prev)
		w->prev->next = w->next;
	else if (w->next)
		map_set(w->map, w->key, w->next);
	else
		map_del(w->map, w->key);
	free(w);
}

/* --- ended jobs, looked up in the store --------------------------------- */

struct past_memo {
	uint64_t job;
	uint32_t task;
	struct past past;
};

enum { MEMO_MOST = 16384 };

static void memo_clear(struct map *memo)
{
	struct past_memo *m;
	size_t at = 0;

	while ((m = map_each(memo, &at)))
		free(m);
	map_free(memo);
}

static int look_up(const struct state *state, uint64_t job, uint32_t task,
                   struct past *ret)
{
	steps_add(STEPS_QUERY);
	return state->past(job, task, ret, state->past_arg);
}

int deps_past(const struct state *state, uint64_t job, uint32_t task,
              struct past *ret)
{
	uint64_t key = hash_bytes(job, &task, sizeof(task));
	struct past_memo *m = map_find(state->watches.memo, key);

	steps_add(1);
	if (m && m->job == job && m->task == task) {
		*ret = m->past;
		return 0;
	}
	if (look_up(state, job, task, ret) < 0)
		return -1;
	if (m)
		return 0;
	if (state->watches.memo->n >= MEMO_MOST)
		memo_clear(state->watches.memo);
	m = xmalloc(sizeof(*m));
	*m = (struct past_memo){ job, task, *ret };
	map_set(state->watches.memo, key, m);
	return 0;
}

/* --- the queue of lists to judge --------------------------------------- */

static void push(struct state *state, const struct dep_tell *tell)
{
	struct dep_lists *q = &state->watches;

	if (q->at == q->n)
		q->at = q->n = 0;
	q->tell = GROW(q->tell, q->n, &q->cap);
	q->tell[q->n++] = *tell;
}

/* Judge the next job on the list of a queue item; returns false at the end of
 * the list. */
static bool tell_next(struct state *state, struct dep_tell *t, int64_t now)
{
	struct dep_watch *w;

	if (!t->begun)
		state->watches.next = map_find(t->map, t->key);
	t->begun = true;
	w = state->watches.next;
	if (!w)
		return false;
	state->watches.next = w->next;
	deps_hear(state, w->job, t->task, now);
	return true;
}

/* Split off the next task of the queue item's job if its condition can be
 * decided; returns false after the last task. */
static bool divide_next(struct state *state, struct dep_tell *t, int64_t now)
{
	struct job *job = state_job(state, t->key);
	int64_t task =
	    job && job->deps ? idset_next(&job->tasks, t->after) : -1;

	if (task < 0)
		return false;
	t->after = task;
	deps_divide(state, job, (uint32_t)task, now);
	return true;
}

void deps_go_on(struct state *state, int64_t now)
{
	struct dep_lists *q = &state->watches;

	if (q->busy)
		/* the loop below is running, and has called this function by
		 * way of deps_hear(): leave the queue to that loop */
		return;
	q->busy = true;
	while (q->at < q->n && q->left > 0) {
		uint64_t before = steps_so_far;
		struct dep_tell t = q->tell[q->at];
		bool more = t.map ? tell_next(state, &t, now)
		                  : divide_next(state, &t, now);

		if (more)
			q->tell[q->at] = t;
		else
			q->at++;
		steps_add(1);
		q->left -= (int64_t)(steps_so_far - before);
	}
	q->busy = false;
}

static void tell(struct state *state, struct map *map, uint64_t key,
                 uint32_t task, int64_t now)
{
	struct dep_tell t = { .map = map, .key = key, .task = task };

	if (!map_find(map, key))
		return;
	push(state, &t);
	deps_go_on(state, now);
}

static void tell_tasks(struct state *state, const struct job *job, int64_t now)
{
	int64_t task = -1;

	if (job->task != NO_TASK)
		tell(state, &state->watches.tasks,
		     task_key(job->array, job->task), job->task, now);
	while (state->watches.tasks.n &&
	       (task = idset_next(&job->tasks, task)) >= 0) {
		steps_add(1);
		tell(state, &state->watches.tasks,
		     task_key(job->array, (uint32_t)task), (uint32_t)task, now);
	}
}

void deps_happened(struct state *state, const struct job *job, int64_t now)
{
	const struct array *array =
	    job->array ? state_array(state, job->array) : NULL;

	tell(state, &state->watches.jobs, job->id, NO_TASK, now);
	if (!array)
		return;
	tell(state, &state->watches.corr, array->id, job->task, now);
	tell_tasks(state, job, now);
	/* Tell the jobs that depend on the whole array when all of its tasks
	 * have ended, or all unfinished ones have started. */
	if (!array->unfinished || array->unfinished == array->running)
		tell(state, &state->watches.jobs, array->id, NO_TASK, now);
}

void deps_divide_later(struct state *state, const struct job *job, int64_t now)
{
	struct dep_tell t = { .key = job->id, .after = -1 };

	push(state, &t);
	deps_go_on(state, now);
}

void deps_refill(struct state *state)
{
	state->watches.left = (int64_t)steps_slice();
	memo_clear(state->watches.memo);
}

bool deps_are_told(const struct state *state)
{
	return state->watches.at == state->watches.n;
}

/* --- initialize and free the lists ------------------------------------- */

void deps_init(struct dep_lists *lists)
{
	lists->memo = xcalloc(1, sizeof(*lists->memo));
	lists->left = STEPS_SLICE;
}

void deps_fini(struct dep_lists *lists)
{
	free(lists->tell);
	map_free(&lists->jobs);
	map_free(&lists->tasks);
	map_free(&lists->corr);
	memo_clear(lists->memo);
	free(lists->memo);
}
