/* trace.c - order jobs, and resolve names in their references */
#include "aisim/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/submit_check.h"
#include "libcommon/cron/zones.h"
#include "libcommon/dependency.h"
#include "libcommon/mem.h"

struct trace *trace_new(struct state *state, const char *file)
{
	struct trace *trace = xcalloc(1, sizeof(*trace));

	trace->state = state;
	trace->file = file;
	trace->arena = arena_new();
	trace->epoch = TRACE_EPOCH;
	trace->until = TRACE_NEVER;
	trace_set_zones(trace);
	return trace;
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < trace->njobs; i++)
		free(trace->job[i].packed);
	for (size_t i = 0; i < trace->ncrons; i++)
		free(trace->cron[i].packed);
	free(trace->job);
	free(trace->cron);
	zones_free(trace->zones);
	free(trace->act);
	map_free(&trace->names);
	map_free(&trace->users);
	map_free(&trace->arrays);
	map_free(&trace->array_of);
	buf_free(&trace->lacks);
	free(trace->array);
	free(trace->user);
	arena_free(trace->arena);
	free(trace);
}

/* --- names ------------------------------------------------------------- */

/* Returns the hash that stands for a name in maps. Different names practically
 * never have the same hash. */
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

/* Set fields of a spec that traces do not have. */
static void complete(const struct trace_job *job, struct spec *spec)
{
	if (job->replayed)
		return;
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

int trace_check(struct trace *trace, struct trace_job *job, struct spec *spec,
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
		return err_set(err, EINVAL,
		               "job '%s' was given in line %u already",
		               job.name, trace->job[known - 1].line);
	if (trace_check(trace, &job, spec, err) < 0)
		return -1;
	job.name = arena_strdup(trace->arena, job.name);
	job.packed = spec_pack(spec);
	if (job.in)
		job.in = arena_strdup(trace->arena, job.in);
	if (job.dependency)
		job.dependency = arena_strdup(trace->arena, job.dependency);
	if (job.near)
		job.near = arena_strdup(trace->arena, job.near);
	if (job.apart)
		job.apart = arena_strdup(trace->arena, job.apart);
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
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int by_time(const void *a, const void *b)
{
	const struct trace_act *x = a, *y = b;
	bool x_cancel = x->kind >= TRACE_HOLD;
	bool y_cancel = y->kind >= TRACE_HOLD;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x_cancel != y_cancel)
		return x_cancel ? 1 : -1; /* the job may arrive in the
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

/* --- jobs that are left out -------------------------------------------- */

enum { REASONS_MAX = 100 };

/* Returns the text of a reason without "job 'NAME': " at its beginning. */
static const char *bare_reason(const char *text)
{
	const char *end;

	if (strncmp(text, "job '", 5) != 0)
		return text;
	end = strstr(text, "': ");
	return end ? end + 3 : text;
}

static size_t reason_of(struct left_out *left, const char *text)
{
	for (size_t i = 0; i < left->nreasons; i++)
		if (!strcmp(left->reason[i].text, text))
			return i;
	if (left->nreasons == REASONS_MAX)
		return left->nreasons - 1;
	if (left->nreasons == REASONS_MAX - 1)
		text = "other reasons";
	left->reason = GROW(left->reason, left->nreasons, &left->cap);
	left->reason[left->nreasons].text = xstrdup(text);
	left->reason[left->nreasons].n = 0;
	return left->nreasons++;
}

void trace_leave(struct trace *trace, const char *name, const struct err *why)
{
	struct left_out *left = trace->left;
	size_t i;

	if (!trace->nleft_out++)
		trace->left_out = *why;
	if (!left || map_find(&left->jobs, key_of(name, strlen(name))))
		return;
	i = reason_of(left, bare_reason(why->text));
	left->reason[i].n++;
	left->n++;
	map_set(&left->jobs, key_of(name, strlen(name)),
	        (void *)(uintptr_t)(i + 1));
}

bool trace_leaves(struct trace *trace, const char *name)
{
	if (!trace->left ||
	    !map_find(&trace->left->jobs, key_of(name, strlen(name))))
		return false;
	trace->nleft_out++;
	return true;
}

void left_free(struct left_out *left)
{
	for (size_t i = 0; i < left->nreasons; i++)
		free(left->reason[i].text);
	free(left->reason);
	map_free(&left->jobs);
}

/* --- arrays ------------------------------------------------------------ */

struct trace_job *trace_find(const struct trace *trace, const char *name)
{
	uint64_t id = find(trace, name, strlen(name));

	return id ? &trace->job[id - 1] : NULL;
}

const struct trace_array *trace_array(const struct trace *trace, uint64_t id)
{
	uintptr_t at = (uintptr_t)map_find(&trace->array_of, id);

	return at ? &trace->array[at - 1] : NULL;
}

uint64_t trace_task(const struct trace *trace, const struct trace_array *array,
                    uint32_t task)
{
	char name[48];

	snprintf(name, sizeof(name), "%s_%u", array->name, task);
	return find(trace, name, strlen(name));
}

static uintptr_t new_array(struct trace *trace, const struct trace_job *job,
                           uint64_t id)
{
	trace->array = GROW(trace->array, trace->narrays, &trace->array_cap);
	trace->array[trace->narrays++] =
	    (struct trace_array){ .name = job->in,
		                  .id = id,
		                  .min = job->task,
		                  .max = job->task,
		                  .limit = job->limit };
	map_set(&trace->arrays, key_of(job->in, strlen(job->in)),
	        (void *)(uintptr_t)trace->narrays);
	map_set(&trace->array_of, id, (void *)(uintptr_t)trace->narrays);
	return trace->narrays;
}

/* Set the array of each task. The id of an array is that of its first task. */
static void number_arrays(struct trace *trace)
{
	for (size_t i = 0; i < trace->njobs; i++) {
		struct trace_job *job = &trace->job[i];
		struct trace_array *array;
		uintptr_t at;

		if (!job->in)
			continue;
		at = (uintptr_t)map_find(&trace->arrays,
		                         key_of(job->in, strlen(job->in)));
		if (!at)
			at = new_array(trace, job, i + 1);
		array = &trace->array[at - 1];
		array->n++;
		if (job->task < array->min)
			array->min = job->task;
		if (job->task > array->max)
			array->max = job->task;
		job->array = array->id;
	}
}

/* --- references -------------------------------------------------------- */

/* Turn a job's or array's id in the replay into its id in the simulation.
 * Returns 0 if the job is not in the simulation, or does not come before the
 * job `mine`. */
static uint64_t replayed_id(const struct trace *trace, uint64_t past,
                            uint64_t mine)
{
	char name[24];
	uintptr_t at;
	uint64_t id;

	snprintf(name, sizeof(name), "%llu", (unsigned long long)past);
	at = (uintptr_t)map_find(&trace->arrays, key_of(name, strlen(name)));
	id = at ? trace->array[at - 1].id : find(trace, name, strlen(name));
	return id < mine ? id : 0;
}

/* Replace the job ids in the dependency of a replayed job by those of the
 * simulation. Conditions on jobs that the simulation lacks are dropped and
 * counted. */
static int replay_dependency(struct trace *trace, struct trace_job *job,
                             struct err *err)
{
	uint64_t mine = (uint64_t)(job - trace->job) + 1;
	struct buf text = { 0 };
	struct deps *deps;
	uint32_t n = 0;

	if (dependency_parse(job->dependency, &deps, err) < 0)
		return -1;
	for (uint32_t i = 0; i < deps->n; i++) {
		struct dep dep = deps->dep[i];

		if (dep.kind != DEP_SINGLETON)
			dep.job = replayed_id(trace, dep.job, mine);
		if (dep.kind == DEP_SINGLETON || dep.job)
			deps->dep[n++] = dep;
		else
			trace->ndropped++;
	}
	deps->n = n;
	job->dependency = NULL;
	if (n) {
		dependency_format(deps, &text);
		job->dependency = arena_strdup(trace->arena, text.data);
	}
	buf_free(&text);
	free(deps);
	return 0;
}

/* Why the job `mine` cannot refer to this job, which `id` is 0 if there
 * is none. */
static const char *bad_target(const struct trace *trace, uint64_t id,
                              uint64_t mine)
{
	if (!id)
		return "is not a job";
	if (trace->job[id - 1].cron)
		return "is a run of a cron entry, which may be skipped";
	return id >= mine ? "does not arrive before it" : NULL;
}

/* Returns the id of the job in a text like "prep" or "prep+5", whose length is
 * *len, and sets *len to the length of its name. */
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

/* Replace names of jobs in a dependency by ids: "afterok:prep:data"
 * becomes "afterok:1:2". */
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
			const char *bad = bad_target(trace, id, mine);

			if (bad) {
				err_set(err, EINVAL,
				        "job '%s' depends on '%.*s', which %s",
				        job->name, (int)len, s, bad);
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

/* Replace names of jobs in --near or --apart by ids: "prep,data:rack" becomes
 * "1,2:rack". Jobs that a replayed job names and that are not in the simulation
 * are dropped and counted. */
static int number_near(struct trace *trace, const struct trace_job *job,
                       const char **ret, struct err *err)
{
	uint64_t mine = (uint64_t)(job - trace->job) + 1;
	struct buf text = { 0 };
	const char *s = *ret;
	int rc = 0;

	for (size_t len; *s && *s != ':'; s += len + (s[len] == ',')) {
		const char *bad;
		uint64_t id;

		len = strcspn(s, ",:");
		id = job->replayed
		         ? replayed_id(trace, strtoull(s, NULL, 10), mine)
		         : find(trace, s, len);
		bad = job->replayed ? NULL : bad_target(trace, id, mine);
		if (bad)
			rc = err_set(err, EINVAL,
			             "job '%s' names '%.*s', which %s",
			             job->name, (int)len, s, bad);
		else if (id)
			buf_printf(&text, "%s%llu", text.len ? "," : "",
			           (unsigned long long)id);
		else
			trace->ndropped++;
	}
	*ret = NULL;
	if (text.len && rc == 0) {
		buf_puts(&text, s);
		*ret = arena_strdup(trace->arena, text.data);
	}
	buf_free(&text);
	return rc;
}

static int number_nears(struct trace *trace, struct trace_job *job,
                        struct err *err)
{
	if (job->near && number_near(trace, job, &job->near, err) < 0)
		return -1;
	return job->apart ? number_near(trace, job, &job->apart, err) : 0;
}

static int check_dependency(const struct trace_job *job, struct err *err)
{
	struct spec spec;
	struct request req;

	spec_unpack(&spec, job->packed);
	spec.dependency = job->dependency;
	spec.near = job->near;
	spec.apart = job->apart;
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

void trace_act(struct trace *trace, enum trace_act_kind kind, const char *name,
               uint32_t line, int64_t at)
{
	trace->act = GROW(trace->act, trace->nacts, &trace->act_cap);
	trace->act[trace->nacts++] =
	    (struct trace_act){ .at = at,
		                .kind = kind,
		                .line = line,
		                .name = arena_strdup(trace->arena, name) };
}

static void shift_time(int64_t *at, int64_t by)
{
	if (*at != TRACE_NEVER)
		*at -= by;
}

void trace_shift(struct trace *trace)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < trace->njobs; i++)
		if (trace->job[i].submit < first)
			first = trace->job[i].submit;
	for (size_t i = 0; i < trace->njobs; i++) {
		struct trace_job *job = &trace->job[i];

		job->submit -= first;
		shift_time(&job->begin, first);
		shift_time(&job->deadline, first);
		shift_time(&job->real.start, first);
		shift_time(&job->real.end, first);
	}
	for (size_t i = 0; i < trace->nacts; i++) {
		struct trace_act *act = &trace->act[i];

		act->at = act->at > first ? act->at - first : 0;
		if (act->kind != TRACE_RESERVE)
			continue;
		act->at = 0;
		act->reserve.end -= first;
		act->reserve.start =
		    act->reserve.start > first ? act->reserve.start - first : 0;
	}
}

int trace_finish(struct trace *trace, struct err *err)
{
	if (trace_add_runs(trace, err) < 0)
		return -1;
	number_jobs(trace);
	number_arrays(trace);
	if (trace->nacts)
		qsort(trace->act, trace->nacts, sizeof(*trace->act), by_time);
	for (size_t i = 0; i < trace->njobs; i++) {
		struct trace_job *job = &trace->job[i];

		int rc = 0;

		if (job->dependency && job->replayed)
			rc = replay_dependency(trace, job, err);
		else if (job->dependency)
			rc = number_dependency(trace, job, err);
		if (rc == 0)
			rc = number_nears(trace, job, err);
		if (rc < 0 || ((job->dependency || job->near || job->apart) &&
		               check_dependency(job, err) < 0))
			return err_wrap(err, "%s:%u", trace->file, job->line);
	}
	for (size_t i = 0; i < trace->nacts; i++) {
		struct trace_act *act = &trace->act[i];

		if (act->kind >= TRACE_HOLD &&
		    find_cancelled(trace, act, err) < 0)
			return err_wrap(err, "%s:%u", trace->file, act->line);
	}
	return 0;
}
