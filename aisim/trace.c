/* trace.c - order jobs, and resolve names in their references */
#include "aisim/trace.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/submit_check.h"
#include "libcommon/mem.h"

struct trace *trace_new(struct state *state, const char *file)
{
	struct trace *trace = xcalloc(1, sizeof(*trace));

	trace->state = state;
	trace->file = file;
	trace->arena = arena_new();
	return trace;
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < trace->njobs; i++)
		free(trace->job[i].packed);
	free(trace->job);
	free(trace->act);
	map_free(&trace->names);
	map_free(&trace->users);
	free(trace->user);
	arena_free(trace->arena);
	free(trace);
}

/* --- names ------------------------------------------------------------- */

/* Use a 64-bit hash for a name: two of a million names collide once in ten
 * million traces. */
static uint64_t key_of(const char *name, size_t len)
{
	return hash_bytes(0, name, len);
}

static uint64_t find(const struct trace *trace, const char *name, size_t len)
{
	return (uintptr_t)map_find(&trace->names, key_of(name, len));
}

uint32_t trace_user(struct trace *trace, const char *name)
{
	uint64_t key = key_of(name, strlen(name));
	uintptr_t known = (uintptr_t)map_find(&trace->users, key);

	if (known)
		return (uint32_t)known - 1;
	trace->user = GROW(trace->user, trace->nusers, &trace->user_cap);
	trace->user[trace->nusers++] = arena_strdup(trace->arena, name);
	map_set(&trace->users, key, (void *)(uintptr_t)trace->nusers);
	return (uint32_t)trace->nusers - 1;
}

/* --- one job ----------------------------------------------------------- */

/* Fill in fields that traces lack and simulations ignore. */
static void complete(const struct trace_job *job, struct spec *spec)
{
	spec->name = job->name;
	if (spec->mem == SPEC_UNSET)
		spec->mem = 0;
	spec->grace = job->grace;
	spec->requeue = job->on_evict != ON_EVICT_END;
	spec->max_restarts = INT32_MAX;
}

static int check_running(const struct trace_job *job, const struct request *req,
                         struct err *err)
{
	if (!job->node)
		return 0;
	if (job->nrunning < req->min_tasks || job->nrunning > req->tasks)
		return err_set(err, EINVAL,
		               "nodes: %u task%s run%s, but the job has %u%s%u",
		               job->nrunning, job->nrunning == 1 ? "" : "s",
		               job->nrunning == 1 ? "s" : "", req->min_tasks,
		               req->min_tasks < req->tasks ? " to " : " of ",
		               req->tasks);
	if (job->submit > 0 || job->started > 0)
		return err_set(err, EINVAL,
		               "a job that runs from the beginning cannot be "
		               "submitted or started later");
	return 0;
}

static int check(struct trace *trace, struct trace_job *job, struct spec *spec,
                 struct err *err)
{
	struct submitter who = { .operator_ = true };
	struct request req;

	complete(job, spec);
	if (state_check_request(trace->state, spec, &who, 0, &job->queue, err) <
	        0 ||
	    spec_resolve(spec, 0, &req, err) < 0 ||
	    check_running(job, &req, err) < 0)
		return err_wrap(err, "job '%s'", job->name);
	return 0;
}

int trace_add(struct trace *trace, const struct trace_job *given,
              struct spec *spec, struct err *err)
{
	struct trace_job job = *given;
	uint64_t known = find(trace, job.name, strlen(job.name));

	if (known)
		return err_set(err, EINVAL, "job '%s' is in line %u already",
		               job.name, trace->job[known - 1].line);
	if (check(trace, &job, spec, err) < 0)
		return -1;
	job.name = arena_strdup(trace->arena, job.name);
	job.packed = spec_pack(spec);
	if (job.dependency)
		job.dependency = arena_strdup(trace->arena, job.dependency);
	trace->job = GROW(trace->job, trace->njobs, &trace->job_cap);
	trace->job[trace->njobs++] = job;
	map_set(&trace->names, key_of(job.name, strlen(job.name)),
	        (void *)(uintptr_t)trace->njobs);
	return 0;
}

/* --- order ------------------------------------------------------------- */

static int by_arrival(const void *a, const void *b)
{
	const struct trace_job *x = a, *y = b;

	if (x->submit != y->submit)
		return x->submit < y->submit ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int by_time(const void *a, const void *b)
{
	const struct trace_act *x = a, *y = b;
	bool x_cancel = x->kind == TRACE_CANCEL;
	bool y_cancel = y->kind == TRACE_CANCEL;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x_cancel != y_cancel)
		return x_cancel ? 1 : -1; /* cancels a job that arrives in the
		                             same second */
	return x->line < y->line ? -1 : x->line > y->line;
}

static void number_jobs(struct trace *trace)
{
	if (trace->njobs)
		qsort(trace->job, trace->njobs, sizeof(*trace->job),
		      by_arrival);
	map_free(&trace->names);
	for (size_t i = 0; i < trace->njobs; i++) {
		const char *name = trace->job[i].name;

		map_set(&trace->names, key_of(name, strlen(name)),
		        (void *)(uintptr_t)(i + 1));
	}
}

/* --- references -------------------------------------------------------- */

/* "prep", "prep+5": returns the id of the job; *len: the length of its name. */
static uint64_t target(const struct trace *trace, const char *s, size_t *len)
{
	uint64_t id = find(trace, s, *len);
	size_t name = *len;

	while (!id && name && s[--name] != '+')
		;
	if (!id && name) {
		id = find(trace, s, name);
		*len = name;
	}
	return id;
}

/* "afterok:prep:data" -> "afterok:1:2" */
static int number_dependency(struct trace *trace, struct trace_job *job,
                             struct err *err)
{
	const char *s = job->dependency;
	size_t mine = (size_t)(job - trace->job) + 1;
	struct buf text = { 0 };
	char before = 0;

	while (*s) {
		size_t len = strcspn(s, ":,?"), name = len;

		if (before == ':') {
			uint64_t id = target(trace, s, &name);
			if (!id || id >= mine) {
				err_set(err, EINVAL,
				        "job '%s' depends on '%.*s', which %s",
				        job->name, (int)len, s,
				        id ? "does not arrive before it"
				           : "is not a job");
				buf_free(&text);
				return -1;
			}
			buf_i64(&text, (int64_t)id);
			s += name;
			len -= name;
		}
		buf_add(&text, s, len);
		s += len;
		before = *s;
		if (*s)
			buf_addc(&text, *s++);
	}
	job->dependency = arena_strdup(trace->arena, text.data);
	buf_free(&text);
	return 0;
}

static int check_dependency(const struct trace_job *job, struct err *err)
{
	struct spec spec;
	struct request req;

	spec_unpack(&spec, job->packed);
	spec.dependency = job->dependency;
	if (spec_resolve(&spec, 0, &req, err) < 0)
		return err_wrap(err, "job '%s'", job->name);
	return 0;
}

static int find_cancelled(const struct trace *trace, struct trace_act *act,
                          struct err *err)
{
	act->job = find(trace, act->name, strlen(act->name));
	if (!act->job)
		return err_set(err, EINVAL, "cancel: there is no job '%s'",
		               act->name);
	if (trace->job[act->job - 1].submit > act->at)
		return err_set(err, EINVAL,
		               "cancel: job '%s' arrives later, in second %lld",
		               act->name,
		               (long long)trace->job[act->job - 1].submit);
	return 0;
}

int trace_finish(struct trace *trace, struct err *err)
{
	number_jobs(trace);
	if (trace->nacts)
		qsort(trace->act, trace->nacts, sizeof(*trace->act), by_time);
	for (size_t i = 0; i < trace->njobs; i++) {
		struct trace_job *job = &trace->job[i];

		if (job->dependency &&
		    (number_dependency(trace, job, err) < 0 ||
		     check_dependency(job, err) < 0))
			return err_wrap(err, "%s:%u", trace->file, job->line);
	}
	for (size_t i = 0; i < trace->nacts; i++) {
		struct trace_act *act = &trace->act[i];

		if (act->kind == TRACE_CANCEL &&
		    find_cancelled(trace, act, err) < 0)
			return err_wrap(err, "%s:%u", trace->file, act->line);
	}
	return 0;
}
