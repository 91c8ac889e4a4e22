/* update.c - records that are changed */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/spec_opt.h"

int state_top(struct state *state, struct job *job, struct err *err)
{
	int64_t highest = job->priority;

	if (job->state != JOB_PENDING)
		return err_set(err, EINVAL,
		               "job %llu is %s: only a pending job can go to "
		               "the top",
		               (unsigned long long)job->id,
		               job_state_name(job->state));
	for (size_t i = 0; i < state->nrows; i++) {
		const struct job *first = state->row[i]->head;

		if (first->queue == job->queue && first != job &&
		    first->priority >= highest)
			highest = first->priority + 1;
	}
	if (highest == job->priority)
		return 0;
	job->priority = highest;
	state_touch(state, job);
	state_reindex(state, job, job->submit);
	return 0;
}

/* --- one option -------------------------------------------------------- */

/* One field of one job; old borrows the texts of job->packed. */
struct change {
	struct state *state;
	struct job *job;
	const struct submitter *who;
	const struct opt *opt;
	const char *field; /* as the user says it */
	struct submit submit;
	struct spec old;
	uint32_t queue;
	int64_t now;
};

static bool is_option(const struct change *c, const char *name)
{
	return !strcmp(c->opt->name, name);
}

/* What a job that has started may still change. */
static bool is_harmless(const struct change *c)
{
	static const char *const names[] = {
		"time",         "job-name", "comment", "account",
		"nice",         "priority", "requeue", "no-requeue",
		"max-restarts", "deadline", "grace"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (is_option(c, names[i]))
			return true;
	return false;
}

static int find_option(struct change *c, struct err *err)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", c->field);
	for (char *p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	if (!strcmp(name, "time-limit"))
		snprintf(name, sizeof(name), "time");
	c->opt = opt_find(spec_opts, name);
	/* What is for aisub alone lies outside the spec. */
	if (!c->opt || c->opt->offset >= sizeof(struct spec) ||
	    is_option(c, "array"))
		return err_set(err, EINVAL, "'%s' cannot be changed", c->field);
	if (is_option(c, "hold"))
		return err_set(err, EINVAL,
		               "use `aictl hold` and `aictl release`");
	if (c->job->state != JOB_PENDING && !is_harmless(c))
		return err_set(err, EINVAL,
		               "job %llu is %s: %s can be changed only while "
		               "it is pending",
		               (unsigned long long)c->job->id,
		               job_state_name(c->job->state), c->field);
	return 0;
}

/* An empty value takes the option back; flags are yes or no. */
static int take_value(struct change *c, const char *value, struct err *err)
{
	bool yes = true;

	if (!*value) {
		submit_clear(&c->submit, c->opt);
		if (c->submit.spec.name && c->submit.spec.output &&
		    c->submit.spec.workdir)
			return 0;
		return err_set(err, EINVAL, "%s cannot be empty", c->field);
	}
	if (!c->opt->arg) {
		if (parse_bool(value, &yes, err) < 0)
			return err_wrap(err, "%s", c->field);
		value = NULL;
	}
	submit_clear(&c->submit, c->opt);
	return yes ? opt_apply(spec_opts, &c->submit, c->opt->name, value, err)
	           : 0;
}

/* --- may it be so? ----------------------------------------------------- */

static bool is_raised(const struct change *c)
{
	int64_t to = c->submit.spec.time_limit, from = c->job->time_limit;

	return from != TIME_UNLIMITED &&
	       (to == TIME_UNLIMITED || to == SPEC_UNSET || to > from);
}

static int check_started(const struct change *c, struct err *err)
{
	const struct spec *spec = &c->submit.spec;
	struct request req;
	int64_t limit;

	if (spec_resolve(spec, 0, &req, err) < 0 ||
	    submit_check_priority(c->state, spec, c->queue, c->who, err) < 0)
		return -1;
	if (is_option(c, "deadline") && spec->deadline != SPEC_UNSET &&
	    spec->deadline <= c->now)
		return err_set(err, EINVAL, "the deadline has passed");
	if (!is_option(c, "time"))
		return 0;
	if (is_raised(c) && !c->who->operator_)
		return err_set(err, EPERM,
		               "raising the time limit of a job that has "
		               "started takes an operator of queue '%s'",
		               c->state->conf->queues[c->queue].name);
	return submit_time_limit(c->state, spec, c->queue, &limit, err);
}

static int check_self(const struct change *c, struct err *err)
{
	struct deps *deps;
	int result = 0;

	if (!c->submit.spec.dependency)
		return 0;
	if (deps_parse(NULL, c->submit.spec.dependency, &deps, err) < 0)
		return -1;
	for (uint32_t i = 0; i < deps->n && result == 0; i++)
		if (deps->dep[i].job && (deps->dep[i].job == c->job->id ||
		                         deps->dep[i].job == c->job->array))
			result = err_set(err, EINVAL,
			                 "job %llu cannot wait for itself",
			                 (unsigned long long)c->job->id);
	free(deps);
	return result;
}

static int check_pending(struct change *c, struct err *err)
{
	struct spec spec = c->submit.spec;

	if (is_option(c, "queue") &&
	    (submit_queue(c->state, &spec, &c->queue, err) < 0 ||
	     submit_check_access(c->state, c->queue, c->who, err) < 0))
		return -1;
	/* Jobs it waited for may have been forgotten since. */
	if (!is_option(c, "dependency"))
		spec.dependency = NULL;
	else if (check_self(c, err) < 0)
		return -1;
	return submit_check_spec(c->state, &spec, c->who, c->queue, c->now,
	                         err);
}

/* --- do it ------------------------------------------------------------- */

static bool differs(const char *a, const char *b)
{
	return !a != !b || (a && strcmp(a, b));
}

/* What follows from the spec, as far as it does so otherwise than before:
 * `top` and a configuration that changed since have their say too. */
static void derive(struct change *c, bool moved)
{
	const struct spec *spec = &c->submit.spec;
	struct job *job = c->job;

	if (moved || spec->priority != c->old.priority ||
	    spec->nice != c->old.nice || differs(spec->class, c->old.class))
		job_set_priority(c->state, job, spec);
	if (moved || spec->grace != c->old.grace)
		job_set_grace(c->state, job, spec);
	job_set_manners(c->state, job, spec);
	if (moved || spec->time_limit != c->old.time_limit)
		submit_time_limit(c->state, spec, job->queue, &job->time_limit,
		                  NULL);
	if (spec->begin != c->old.begin)
		job->begin = spec->begin != SPEC_UNSET && spec->begin > c->now
		                 ? spec->begin
		                 : NO_TIME;
	job->deadline = spec->deadline == SPEC_UNSET ? NO_TIME : spec->deadline;
}

static void take_spec(struct change *c)
{
	struct job *job = c->job;
	bool moved = c->queue != job->queue;
	char *packed = spec_pack(&c->submit.spec);

	state_count(c->state, job, -1);
	names_del(c->state, job);
	job->queue = c->queue;
	derive(c, moved);
	placed_key_forget(job);
	free(job->packed); /* the last use of the old texts was above */
	job->packed = packed;
	state_count(c->state, job, 1);
	names_add(c->state, job);
	state_touch(c->state, job);
	state_arm(c->state, job);
}

/* Conditions that were met are asked for again. */
static void take_dependency(struct change *c, const char *text)
{
	deps_forget(c->state, c->job);
	if (text && deps_parse(c->state, text, &c->job->deps, NULL) < 0)
		abort(); /* it was checked */
	deps_begin(c->state, c->job, c->now);
}

static int update_array_limit(struct state *state, struct job *job,
                              const char *value, struct err *err)
{
	struct array *array = state_array(state, job->array);
	int64_t limit;

	if (!array)
		return err_set(err, EINVAL, "job %llu is not of an array",
		               (unsigned long long)job->id);
	if (parse_int(value, 0, LIMIT_ARRAY, &limit, err) < 0)
		return -1;
	array->limit = (uint32_t)limit;
	state_touch_array(state, array);
	for (struct job *j = array->first; j; j = j->array_next)
		state_reindex(state, j, j->submit);
	return 0;
}

static int update_option(struct change *c, const char *value, struct err *err)
{
	if (find_option(c, err) < 0 || take_value(c, value, err) < 0 ||
	    (c->job->state == JOB_PENDING ? check_pending(c, err)
	                                  : check_started(c, err)) < 0)
		return -1;
	take_spec(c);
	/* Judging the new conditions may dissolve the record. */
	if (is_option(c, "dependency"))
		take_dependency(c, c->submit.spec.dependency);
	else
		state_reindex(c->state, c->job, c->now);
	return 0;
}

int state_update(struct state *state, struct job *job,
                 const struct submitter *who, const char *field,
                 const char *value, int64_t now, struct err *err)
{
	struct change c = { .state = state,
		            .job = job,
		            .who = who,
		            .field = field,
		            .queue = job->queue,
		            .now = now };
	struct arena *arena;
	int result;

	if (job_state_is_final((enum job_state)job->state))
		return err_set(err, EINVAL, "job %llu has ended",
		               (unsigned long long)job->id);
	if (!strcmp(field, "array_limit") || !strcmp(field, "array-limit"))
		return update_array_limit(state, job, value, err);
	arena = arena_new();
	submit_init(&c.submit, arena, NULL, now);
	spec_unpack(&c.old, job->packed);
	c.submit.spec = c.old;
	result = update_option(&c, value, err);
	arena_free(arena);
	return result;
}
