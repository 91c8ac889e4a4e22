/* update.c - change fields of a job */
#include "aischedd/state/life/update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/reserve_use.h"
#include "aischedd/state/life/adopt.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/letter.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/lifecycle_stop.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/spec/spec_opt.h"
#include "libcommon/steps.h"

enum { STEPS_REINDEX = 10 /* steps charged to put a job into its row */ };

/*
 * Returns how much a priority must be above another one so that no points can
 * reverse their order: one more than age, size and fair share can add to the
 * lower job's points. If fair share counts, users above the average lose the
 * points of a week of waiting (order_score.h), and such a user may own the
 * higher job.
 */
static int64_t margin(const struct conf_scheduling *c)
{
	int64_t week = 7 * c->age_weight;

	return week + (c->fairshare_weight > 0 ? week : 0) + c->size_weight +
	       c->fairshare_weight + 1;
}

int state_top(struct state *state, struct job *job, struct err *err)
{
	int64_t others, least;

	if (job->state != JOB_PENDING)
		return err_set(err, EINVAL,
		               "job %s is %s: only a pending job can go to "
		               "the top",
		               job_id_text(job).text,
		               job_state_name(job->state));
	others = row_highest_other(state, job);
	if (others == INT64_MIN)
		return 0;
	least = others + margin(&state->conf->scheduling);
	if (job->priority >= least)
		return 0;
	job->priority = least;
	state_touch(state, job);
	state_reindex(state, job, job->submit);
	row_is_highest(state, job, others);
	return 0;
}

/* --- set options in the request ---------------------------------------- */

/* An update in progress. `submit` has the changed request, `old` the present
 * one, whose strings are those of job->packed. */
struct change {
	struct state *state;
	struct job *job;
	const struct submitter *who;
	struct submit submit;
	struct spec old;
	uint32_t queue;
	int64_t array_limit; /* -1: unchanged */
	/* whether the update sets this option */
	bool queue_said, dependency_said, time_said, deadline_said, mail_said;
	int64_t now;
};

static bool is_option(const struct opt *opt, const char *name)
{
	return !strcmp(opt->name, name);
}

/* Whether the option may be changed after the job has started. */
static bool is_harmless(const struct opt *opt)
{
	static const char *const names[] = {
		"time",         "job-name", "comment", "account",
		"nice",         "priority", "requeue", "no-requeue",
		"max-restarts", "deadline", "grace",   "label",
		"mail-type",    "mail-user"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (is_option(opt, names[i]))
			return true;
	return false;
}

static const struct opt *find_option(const struct job *job, const char *field,
                                     struct err *err)
{
	const struct opt *opt;
	char name[64];

	snprintf(name, sizeof(name), "%s", field);
	for (char *p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	/* Accept two more names, under which aiq shows these fields. */
	if (!strcmp(name, "time-limit"))
		snprintf(name, sizeof(name), "time");
	else if (!strcmp(name, "name"))
		snprintf(name, sizeof(name), "job-name");
	opt = opt_find(spec_opts, name);
	if (!opt) {
		err_set(err, EINVAL,
		        "there is no field '%s': they are the long options of "
		        "aisub",
		        field);
		return NULL;
	}
	/* Refuse options of aisub that are not part of the request. */
	if (opt->offset >= sizeof(struct spec) || is_option(opt, "array") ||
	    is_option(opt, "port")) {
		err_set(err, EINVAL, "'%s' cannot be changed", field);
		return NULL;
	}
	if (is_option(opt, "hold")) {
		err_set(err, EINVAL, "use `aictl hold` and `aictl release`");
		return NULL;
	}
	if (job->state != JOB_PENDING && !is_harmless(opt)) {
		err_set(err, EINVAL,
		        "job %s is %s: %s can be changed only while it is "
		        "pending",
		        job_id_text(job).text, job_state_name(job->state),
		        field);
		return NULL;
	}
	return opt;
}

/* Set an option in the changed request. An empty value unsets it; the value of
 * a flag is yes or no. */
static int take_value(struct change *c, const struct opt *opt,
                      const struct assignment *a, struct err *err)
{
	const char *value = a->value;
	bool yes = true;

	if (!*value) {
		submit_clear(&c->submit, opt);
		if (c->submit.spec.name && c->submit.spec.output &&
		    c->submit.spec.workdir)
			return 0;
		return err_set(err, EINVAL, "%s cannot be empty", a->field);
	}
	if (!opt->arg) {
		if (parse_bool(value, &yes, err) < 0)
			return err_wrap(err, "%s", a->field);
		value = NULL;
	}
	submit_clear(&c->submit, opt);
	if (yes && opt_apply(spec_opts, &c->submit, opt->name, value, err) < 0)
		return -1;
	if (c->submit.max_nodes != SPEC_UNSET)
		return err_set(err, EINVAL,
		               "nodes: a range is chosen from when a job is "
		               "submitted; give one number");
	return 0;
}

static int take_array_limit(struct change *c, const char *value,
                            struct err *err)
{
	if (!c->job->array)
		return err_set(err, EINVAL, "job %s is not of an array",
		               job_id_text(c->job).text);
	return parse_int(value, 0, LIMIT_ARRAY, &c->array_limit, err);
}

static int take_field(struct change *c, const struct assignment *a,
                      struct err *err)
{
	const struct opt *opt;

	if (!strcmp(a->field, "array_limit") ||
	    !strcmp(a->field, "array-limit"))
		return take_array_limit(c, a->value, err);
	opt = find_option(c->job, a->field, err);
	if (!opt || take_value(c, opt, a, err) < 0)
		return -1;
	c->queue_said |= is_option(opt, "queue") || is_option(opt, "partition");
	c->dependency_said |= is_option(opt, "dependency");
	c->time_said |= is_option(opt, "time");
	c->deadline_said |= is_option(opt, "deadline");
	c->mail_said |=
	    is_option(opt, "mail-type") || is_option(opt, "mail-user");
	return 0;
}

/* --- whether the change is allowed -------------------------------------- */

static bool is_raised(const struct change *c)
{
	int64_t to = c->submit.spec.time_limit, from = c->job->time_limit;

	return from != TIME_UNLIMITED &&
	       (to == TIME_UNLIMITED || to == SPEC_UNSET || to > from);
}

static bool differs(const char *a, const char *b)
{
	return !a != !b || (a && strcmp(a, b));
}

static bool other_priority(const struct change *c)
{
	const struct spec *spec = &c->submit.spec;

	return c->queue != c->job->queue || spec->priority != c->old.priority ||
	       spec->nice != c->old.nice || differs(spec->class, c->old.class);
}

/* Returns the submitter, with operator_ set for the checks of priority and
 * class. If the update changes neither, it is set for all users, because an
 * operator may have set the present values. If the update changes one of them
 * and moves the job to another queue, it is set only for users who operate
 * both queues. */
static struct submitter asking(const struct change *c)
{
	struct submitter who = *c->who;

	if (c->queue != c->job->queue)
		who.operator_ = who.operator_ && who.operates &&
		                who.operates(c->queue, who.operates_arg);
	who.operator_ |= !other_priority(c);
	return who;
}

/* Check the grace if it changes. An unchanged grace is allowed even if it is
 * longer than the queue's, because an operator may have set it. */
static int check_grace(const struct change *c, struct err *err)
{
	const struct spec *spec = &c->submit.spec;

	if (c->queue == c->job->queue && spec->grace == c->old.grace)
		return 0;
	return submit_check_grace(c->state, spec, c->queue, c->who, err);
}

static int check_started(const struct change *c, struct err *err)
{
	const struct spec *spec = &c->submit.spec;
	struct submitter who = asking(c);
	struct request req;
	int64_t limit;

	if (spec_resolve(spec, 0, &req, err) < 0 ||
	    submit_check_priority(c->state, spec, c->queue, &who, err) < 0 ||
	    check_grace(c, err) < 0)
		return -1;
	if (c->deadline_said && spec->deadline != SPEC_UNSET &&
	    spec->deadline <= c->now)
		return err_set(err, EINVAL, "the deadline has passed");
	if (c->mail_said && letter_check(c->state, spec, c->who->user, err) < 0)
		return -1;
	if (!c->time_said)
		return 0;
	if (is_raised(c) && !c->who->operator_)
		return err_set(err, EPERM,
		               "raising the time limit of a job that has "
		               "started needs an operator of queue '%s'",
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
			                 "job %s cannot wait for itself",
			                 job_id_text(c->job).text);
	free(deps);
	return result;
}

/* Refuse to move an adopted job (a Job that others made in a cluster) to a
 * queue of another namespace. */
static int check_space(const struct change *c, struct err *err)
{
	const struct conf *conf = c->state->conf;
	int pool = c->old.kube_uid && c->old.pool
	               ? conf_pool_find(conf, c->old.pool)
	               : -1;
	const char *was, *is;

	if (pool < 0 || c->queue == c->job->queue)
		return 0;
	was = conf_namespace(conf, (int)c->job->queue, pool);
	is = conf_namespace(conf, (int)c->queue, pool);
	if (!strcmp(was, is))
		return 0;
	return err_set(err, EINVAL,
	               "queue '%s' takes Jobs of namespace '%s' only",
	               conf->queues[c->queue].name, is);
}

/* Check the jobs that --near and --apart name, but only if the option changes:
 * jobs that an unchanged option names may have ended. */
static int check_affinity(const struct change *c, struct err *err)
{
	const struct job *job = c->job;
	struct spec spec = c->submit.spec;

	if (!differs(spec.near, c->old.near))
		spec.near = NULL;
	if (!differs(spec.apart, c->old.apart))
		spec.apart = NULL;
	return affinity_check(c->state, &spec, job->uid,
	                      job->array ? job->array : job->id, err);
}

static int check_pending(struct change *c, struct err *err)
{
	struct spec spec = c->submit.spec;
	struct submitter who;

	if (c->queue_said &&
	    (submit_queue(c->state, &spec, &c->queue, err) < 0 ||
	     submit_check_access(c->state, c->queue, c->who, err) < 0 ||
	     submit_check_move(c->state, c->job, c->queue, err) < 0 ||
	     check_space(c, err) < 0))
		return -1;
	/* Do not look up the jobs that an unchanged dependency names: the
	 * history may no longer have them. */
	if (!c->dependency_said)
		spec.dependency = NULL;
	else if (check_self(c, err) < 0)
		return -1;
	if (check_grace(c, err) < 0 || check_affinity(c, err) < 0)
		return -1;
	who = asking(c);
	if (other_priority(c) &&
	    submit_check_class(c->state, &spec, c->queue, &who, err) < 0)
		return -1;
	return submit_check_spec(c->state, &spec, &who, c->queue, c->now, err);
}

/* --- applying the change ------------------------------------------------ */

/* Set the job's grace. If the job is already being stopped, its grace can only
 * become shorter, and the runner is told the new one. */
static void take_grace(struct change *c)
{
	struct job *job = c->job;
	int64_t was = job->grace;

	job_set_grace(c->state, job, &c->submit.spec);
	if (job->state != JOB_COMPLETING)
		return;
	if (job->grace > was)
		job->grace = was;
	life_effect_stop(c->state, job);
}

/* Set the members of the job that follow from options that have changed. The
 * others stay as they are, because `aictl top` or an earlier configuration may
 * have set them. */
static void derive(struct change *c, bool moved, bool reordered)
{
	const struct spec *spec = &c->submit.spec;
	struct job *job = c->job;

	if (reordered)
		job_set_priority(c->state, job, spec);
	if (moved || spec->grace != c->old.grace)
		take_grace(c);
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
	bool moved = c->queue != job->queue, reordered = other_priority(c);
	char *packed = job->state == JOB_PENDING
	                   ? submit_pack(c->state, &c->submit.spec, c->queue)
	                   : spec_pack(&c->submit.spec);

	if (job->state == JOB_PENDING)
		/* the changed job may need other nodes */
		claim_drop(c->state, job);
	state_count(c->state, job, -1);
	names_del(c->state, job);
	affinity_del(c->state, job);
	job->queue = c->queue;
	derive(c, moved, reordered);
	placed_key_forget(c->state, job);
	/* do not use c->old from here on: its strings are
	 * those of job->packed */
	free(job->packed);
	job->packed = packed;
	job->reserved = c->submit.spec.reservation != NULL;
	job->claims = volume_is_named(c->submit.spec.mount);
	job->affine = affinity_is_asked(&c->submit.spec);
	job->aligned = pool_align_is_asked(&c->submit.spec);
	reserve_admit(c->state, &c->submit.spec, c->who);
	state_count(c->state, job, 1);
	names_add(c->state, job);
	affinity_add(c->state, job);
	state_touch(c->state, job);
	state_arm(c->state, job);
	if (deps_end_job(job))
		state_alarm(c->state, c->now, job->id);
}

/* Replace the job's dependency. All conditions of the new one are judged, even
 * those that were already met before. */
static void take_dependency(struct change *c, const char *text)
{
	deps_forget(c->state, c->job);
	if (text && deps_parse(c->state, text, &c->job->deps, NULL) < 0)
		abort(); /* cannot fail: check_self() has parsed it */
	deps_begin(c->state, c->job, c->now);
}

/* A request that names the array calls this for each of its records: only the
 * first call walks through all of them. */
static void set_array_limit(struct state *state, struct array *array,
                            uint32_t limit)
{
	if (array->limit == limit)
		return;
	array->limit = limit;
	row_limit_array(state, array);
	state_touch_array(state, array);
	for (struct job *j = array->first; j; j = j->array_next) {
		state_reindex(state, j, j->submit);
		steps_add(STEPS_REINDEX);
	}
}

static void apply(struct change *c)
{
	if (c->array_limit >= 0)
		set_array_limit(c->state, state_array(c->state, c->job->array),
		                (uint32_t)c->array_limit);
	take_spec(c);
	/* This must come last: judging the new conditions may split the record
	 * and free it. */
	if (c->dependency_said)
		take_dependency(c, c->submit.spec.dependency);
	else
		state_reindex(c->state, c->job, c->now);
}

static int check(struct change *c, const struct assignment *set, size_t n,
                 struct err *err)
{
	for (size_t i = 0; i < n; i++)
		if (take_field(c, &set[i], err) < 0)
			return -1;
	return c->job->state == JOB_PENDING ? check_pending(c, err)
	                                    : check_started(c, err);
}

int state_update(struct state *state, struct job *job,
                 const struct submitter *who, const struct assignment *set,
                 size_t n, int64_t now, struct err *err)
{
	struct change c = { .state = state,
		            .job = job,
		            .who = who,
		            .queue = job->queue,
		            .array_limit = -1,
		            .now = now };
	struct arena *arena;
	int result;

	if (job_state_is_final((enum job_state)job->state))
		return err_set(err, EINVAL, "job %s has ended",
		               job_id_text(job).text);
	arena = arena_new();
	submit_init(&c.submit, arena, NULL, now);
	spec_unpack(&c.old, job->packed);
	c.submit.spec = c.old;
	result = check(&c, set, n, err);
	if (result == 0)
		apply(&c);
	arena_free(arena);
	return result;
}

/* --- changes of Jobs in a cluster --------------------------------------- */

/* Hold or release the job if its Job in the cluster was held or released. A job
 * that an operator holds stays held. */
static void take_hold(struct change *c)
{
	const bool was = c->old.hold == 1, is = c->submit.spec.hold == 1;
	const struct event_in ev = { .kind = is ? EV_hold : EV_release,
		                     .now = c->now };

	if (was != is)
		state_event(c->state, c->job, &ev, NULL);
}

int state_reread(struct state *state, struct job *job,
                 const struct submitter *who, const struct spec *spec,
                 int64_t now, struct err *err)
{
	struct change c = { .state = state,
		            .job = job,
		            .who = who,
		            .queue = job->queue,
		            .array_limit = -1,
		            .now = now };

	spec_unpack(&c.old, job->packed);
	c.submit.spec = *spec;
	c.queue_said = differs(spec->queue, c.old.queue);
	c.dependency_said = differs(spec->dependency, c.old.dependency);
	if (check_pending(&c, err) < 0)
		return -1;
	adopt_tell(state, job);
	take_hold(&c);
	apply(&c);
	return 0;
}
