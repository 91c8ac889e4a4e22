/* depend.c - dependencies: jobs that wait for other jobs */
#include "aischedd/state/life/depend.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/depend_watch.h"
#include "aischedd/state/life/split.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

/* Whether the job or array task that the condition names exists or existed. */
static bool exists(const struct state *state, const struct dep *dep)
{
	struct past past;

	if (dep->kind == DEP_SINGLETON)
		return true;
	if (dep->task == NO_TASK
	        ? state_job(state, dep->job) || state_array(state, dep->job)
	        : state_task(state, dep->job, dep->task) != NULL)
		return true;
	return deps_past(state, dep->job, dep->task, &past) == 0;
}

static int no_such_job(const struct dep *dep, struct err *err)
{
	if (dep->task == NO_TASK)
		return err_set(err, ENOENT, "there is no job %llu to depend on",
		               (unsigned long long)dep->job);
	return err_set(err, ENOENT, "there is no job %llu_%u to depend on",
	               (unsigned long long)dep->job, dep->task);
}

int deps_parse(const struct state *state, const char *text, struct deps **ret,
               struct err *err)
{
	struct deps *deps;

	if (dependency_parse(text, &deps, err) < 0)
		return -1;
	for (uint32_t i = 0; state && i < deps->n; i++)
		if (!exists(state, &deps->dep[i])) {
			no_such_job(&deps->dep[i], err);
			free(deps);
			return -1;
		}
	*ret = deps;
	return 0;
}

void deps_watch(struct state *state, struct job *job)
{
	for (uint32_t i = 0; job->deps && i < job->deps->n; i++) {
		if (job->deps->dep[i].kind == DEP_SINGLETON)
			state->waits.nsingletons++;
		else
			dep_watch(state, &job->deps->dep[i], job->id);
	}
}

static void drop_dep(struct state *state, struct job *job, uint32_t i)
{
	struct deps *deps = job->deps;

	if (deps->dep[i].kind == DEP_SINGLETON)
		state->waits.nsingletons--;
	else
		dep_unwatch(state, &deps->dep[i]);
	deps->dep[i] = deps->dep[--deps->n];
	state_touch(state, job);
}

void deps_forget(struct state *state, struct job *job)
{
	while (job->deps && job->deps->n)
		drop_dep(state, job, job->deps->n - 1);
	free(job->deps);
	job->deps = NULL;
}

/* Returns the key that all jobs of one user and name share. */
static uint64_t name_key(const struct job *job)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	return hash_bytes(job->uid, spec.name, strlen(spec.name));
}

/* --- judge conditions -------------------------------------------------- */

enum met { NOT_YET, MET, NEVER };

/* The facts about a job, task or array on which conditions depend. */
struct seen {
	bool over, ok;
	/* start time; NO_TIME: the job, or some task of the array,
	 * has not started */
	int64_t start;
};

static void see_job(const struct job *job, struct seen *ret)
{
	ret->over = job_state_is_final(job->state);
	ret->ok = job->state == JOB_COMPLETED;
	ret->start = job->state == JOB_PENDING ? NO_TIME : job->runs->start;
}

static void see_array(const struct array *array, struct seen *ret)
{
	ret->over = array->unfinished == 0;
	ret->ok = array->failed == 0;
	ret->start =
	    array->unfinished == array->running ? array->started : NO_TIME;
}

/* Get the facts of struct seen about a job, an array (task NO_TASK) or a task
 * of an array. If the target is not an array, `task` is ignored. */
static void see(const struct state *state, uint64_t target, uint32_t task,
                struct seen *ret)
{
	const struct array *array = state_array(state, target);
	const struct job *job = NULL;
	struct past past;

	if (!array)
		job = state_job(state, target);
	else if (task != NO_TASK)
		job = state_task(state, target, task);
	if (job) {
		see_job(job, ret);
	} else if (array && task == NO_TASK) {
		see_array(array, ret);
	} else if (deps_past(state, target, task, &past) == 0 ||
	           (!array && deps_past(state, target, NO_TASK, &past) == 0)) {
		*ret = (struct seen){ true, past.state == JOB_COMPLETED,
			              past.start };
	} else {
		/* The history no longer has the job: treat it as ended
		 * without success. */
		*ret = (struct seen){ true, false, NO_TIME };
	}
}

/* Returns the id by which jobs of a name are told older from younger: all tasks
 * of an array are as old as the array. */
static uint64_t age_id(const struct job *job)
{
	return job->array ? job->array : job->id;
}

static bool is_older(const struct job *job, const struct job *than)
{
	return age_id(job) < age_id(than);
}

/* Whether the condition "singleton" is met: no older job has the same user
 * and name. */
static bool alone(const struct state *state, const struct job *job)
{
	const struct job *first = map_find(&state->waits.names, job->name_key);

	if (state->waits.telling && state->waits.told == job->name_key)
		return age_id(job) <= state->waits.oldest;
	/* The newest jobs are first in the list, so look first at those after
	 * this one: nearly all of them are older. */
	for (const struct job *o = job->name_next; o; o = o->name_next) {
		steps_add(1);
		if (is_older(o, job))
			return false;
	}
	for (const struct job *o = first; o && o != job; o = o->name_next) {
		steps_add(1);
		if (is_older(o, job))
			return false;
	}
	return true;
}

static enum met judge(struct state *state, struct job *job, struct dep *dep,
                      int64_t now)
{
	struct seen seen;

	steps_add(1);
	if (dep->kind == DEP_SINGLETON)
		return alone(state, job) ? MET : NOT_YET;
	if (dep->kind == DEP_CORR && job->tasks.n)
		return NOT_YET; /* deps_divide() judges each task by itself */
	see(state, dep->job, dep->kind == DEP_CORR ? job->task : dep->task,
	    &seen);
	switch ((enum dep_kind)dep->kind) {
	case DEP_AFTER:
		if (seen.start == NO_TIME)
			return seen.over ? MET : NOT_YET;
		dep->at = seen.start + dep->delay_s;
		return dep->at <= now ? MET : NOT_YET;
	case DEP_ANY:
		return seen.over ? MET : NOT_YET;
	case DEP_OK:
	case DEP_CORR:
		return !seen.over ? NOT_YET : seen.ok ? MET : NEVER;
	case DEP_NOT_OK:
		return !seen.over ? NOT_YET : seen.ok ? NEVER : MET;
	case DEP_SINGLETON:
		break;
	}
	return NOT_YET;
}

/* Returns the first aftercorr condition of the job, or NULL. */
static const struct dep *corresponds(const struct job *job)
{
	for (uint32_t i = 0; i < job->deps->n; i++)
		if (job->deps->dep[i].kind == DEP_CORR)
			return &job->deps->dep[i];
	return NULL;
}

/* Split one task off an array when the task of the same index in the other
 * array has ended, whether that meets the condition or not. */
void deps_divide(struct state *state, struct job *job, uint32_t task,
                 int64_t now)
{
	const struct dep *dep = corresponds(job);
	struct seen seen;
	struct job *split;

	if (!dep || !idset_has(&job->tasks, task))
		return;
	see(state, dep->job, task, &seen);
	if (!seen.over)
		return;
	split = state_split_task(state, job, task);
	deps_judge(state, split, now);
	state_reindex(state, split, now);
}

/* Set an alarm for the end of the delay ("after:ID+10") that ends first. When
 * the alarm fires, the job is judged again, and the next alarm is set. */
static void arm_delay(struct state *state, struct job *job)
{
	int64_t first = NO_TIME;

	for (uint32_t i = 0; job->deps && i < job->deps->n; i++) {
		int64_t at = job->deps->dep[i].at;

		if (at != NO_TIME && (first == NO_TIME || at < first))
			first = at;
	}
	if (!job->deps || first == job->deps->alarm)
		return;
	job->deps->alarm = first;
	state_alarm(state, first, job->id);
}

void deps_judge(struct state *state, struct job *job, int64_t now)
{
	for (uint32_t i = 0; job->deps && i < job->deps->n;) {
		struct dep *dep = &job->deps->dep[i];
		enum met met = judge(state, job, dep, now);

		dep->never = met == NEVER;
		if (met != MET) {
			i++;
		} else if (job->deps->any) {
			deps_forget(state, job);
		} else {
			drop_dep(state, job, i);
		}
	}
	if (job->deps && !job->deps->n)
		deps_forget(state, job);
	if (job->deps && deps_reason(job) == WHY_DependencyNeverSatisfied)
		letter_invalid(state, job, now);
	if (deps_end_job(job))
		/* end the job later, because callers still use it */
		state_alarm(state, now, job->id);
	arm_delay(state, job);
}

bool deps_end_job(const struct job *job)
{
	struct spec spec;

	if (!job->deps || job->hold ||
	    deps_reason(job) != WHY_DependencyNeverSatisfied)
		return false;
	spec_unpack(&spec, job->packed);
	return spec.kill_on_invalid_dep == 1;
}

enum reason deps_reason(const struct job *job)
{
	uint32_t never = 0;

	for (uint32_t i = 0; i < job->deps->n; i++)
		never += job->deps->dep[i].never;
	return never && (!job->deps->any || never == job->deps->n)
	           ? WHY_DependencyNeverSatisfied
	           : WHY_Dependency;
}

void deps_try(struct state *state, struct job *job, int64_t now)
{
	struct deps *deps = job->deps;
	uint32_t met = 0;

	job->name_key = name_key(job);
	for (uint32_t i = 0; i < deps->n; i++) {
		enum met m = judge(state, job, &deps->dep[i], now);

		deps->dep[i].never = m == NEVER;
		met += m == MET;
	}
	if (deps->any ? met : met == deps->n) {
		free(deps);
		job->deps = NULL;
	}
}

void deps_begin(struct state *state, struct job *job, int64_t now)
{
	uint64_t id = job->id;

	deps_watch(state, job);
	if (job->deps && job->tasks.n && corresponds(job))
		deps_divide_later(state, job, now);
	job = state_job(state, id);
	if (!job)
		return;
	deps_judge(state, job, now);
	state_reindex(state, job, now);
}

void deps_hear(struct state *state, uint64_t id, uint32_t task, int64_t now)
{
	struct job *job = state_job(state, id);

	if (job && job->deps && job->tasks.n && corresponds(job)) {
		if (task == NO_TASK)
			deps_divide_later(state, job, now);
		else
			deps_divide(state, job, task, now);
		job = state_job(state, id);
	}
	if (!job || !job->deps)
		return;
	deps_judge(state, job, now);
	state_reindex(state, job, now);
}

/* --- jobs with the same user and name ---------------------------------- */

void names_add(struct state *state, struct job *job)
{
	struct job *first;

	job->name_key = name_key(job);
	first = map_find(&state->waits.names, job->name_key);
	job->name_next = first;
	if (first)
		first->name_prev = job;
	map_set(&state->waits.names, job->name_key, job);
}

void names_del(struct state *state, struct job *job)
{
	if (job->name_prev)
		job->name_prev->name_next = job->name_next;
	else if (job->name_next)
		map_set(&state->waits.names, job->name_key, job->name_next);
	else
		map_del(&state->waits.names, job->name_key);
	if (job->name_next)
		job->name_next->name_prev = job->name_prev;
	job->name_prev = job->name_next = NULL;
}

/* Only the oldest jobs can be those for which the condition is met now. There
 * may be many of them, the records of one array, so do not look for the oldest
 * anew for each of them. */
void names_tell(struct state *state, uint64_t name_key, int64_t now)
{
	struct job *first = map_find(&state->waits.names, name_key), *next;
	uint64_t oldest = UINT64_MAX;

	if (!state->waits.nsingletons)
		return;
	for (const struct job *job = first; job; job = job->name_next) {
		steps_add(1);
		if (age_id(job) < oldest)
			oldest = age_id(job);
	}
	state->waits.telling = true;
	state->waits.told = name_key;
	state->waits.oldest = oldest;
	for (struct job *job = first; job; job = next) {
		next = job->name_next;
		steps_add(1);
		if (!job->deps || age_id(job) > oldest)
			continue;
		deps_judge(state, job, now);
		state_reindex(state, job, now);
	}
	state->waits.telling = false;
}
