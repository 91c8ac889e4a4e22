/* submit_check.c - check whether a request is allowed and can ever run */
#include "aischedd/state/life/submit_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/license.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/reserve_use.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/pass/what_if.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/constraint.h"
#include "libcommon/hostlist.h"
#include "libcommon/parse.h"
#include "libcommon/spec/spec_opt.h"
#include "libcommon/topology.h"

/* --- whether the user may submit the request ---------------------------- */

static bool listed(const struct strlist *list, const struct submitter *who)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *s = list->s[i];

		if (s[0] == '@' ? who->in_group(s + 1, who->arg)
		                : !strcmp(s, who->user))
			return true;
	}
	return list->n == 0;
}

int submit_queue(const struct state *state, const struct spec *spec,
                 uint32_t *ret, struct err *err)
{
	const struct conf *conf = state->conf;
	int q;

	if (!spec->queue) {
		q = conf_default_queue(conf);
		if (q < 0)
			return err_set(err, EINVAL,
			               "there are several queues and no "
			               "default: name one with -q");
	} else {
		q = conf_queue_find(conf, spec->queue);
		if (q < 0)
			return err_set(err, ENOENT,
			               "there is no queue '%s'; "
			               "`aiq --queues` lists them",
			               spec->queue);
	}
	if (!conf->queues[q].leaf)
		return err_set(err, EINVAL,
		               "queue '%s' has queues below it: submit to one "
		               "of those",
		               conf->queues[q].name);
	*ret = (uint32_t)q;
	return 0;
}

int submit_check_access(const struct state *state, uint32_t queue,
                        const struct submitter *who, struct err *err)
{
	const struct conf_queue *queues = state->conf->queues;

	for (int q = (int)queue; q >= 0; q = queues[q].parent) {
		if (!listed(&queues[q].users, who))
			return err_set(err, EACCES,
			               "user '%s' may not use queue '%s'",
			               who->user, queues[q].name);
		if (state->queues.queue[q].closed)
			return err_set(err, EAGAIN, "queue '%s' is closed",
			               queues[q].name);
	}
	return 0;
}

int submit_check_class(const struct state *state, const struct spec *spec,
                       uint32_t queue, const struct submitter *who,
                       struct err *err)
{
	const struct conf *conf = state->conf;
	const char *name = state_class(state, spec, queue);
	int class = conf_class_find(conf, name);
	int q = conf_queue_without_class(conf, (int)queue, name);

	if (class < 0)
		return err_set(err, ENOENT, "there is no class '%s'", name);
	if (q >= 0)
		return err_set(err, EACCES,
		               "queue '%s' takes no jobs of class '%s'",
		               conf->queues[q].name, name);
	if (!who->operator_ && !listed(&conf->classes[class].users, who))
		return err_set(err, EACCES,
		               "user '%s' may not use class '%s'%s", who->user,
		               name,
		               spec->class ? ""
		                           : ", that of the queue: name "
		                             "another one with --class");
	return 0;
}

/* Returns the number of the user's jobs in this queue and all below it. */
static uint64_t user_jobs(const struct state *state, uint32_t queue,
                          uint32_t user)
{
	const struct usage *usage = usage_find(state, queue, user);
	uint64_t n = usage ? usage->jobs : 0;

	for (size_t i = queue + 1; i < state->conf->nqueues; i++)
		if (state->conf->queues[i].parent == (int)queue)
			n += user_jobs(state, (uint32_t)i, user);
	return n;
}

/* The end of a sentence about a limit that `more` additional jobs exceed. */
struct asked_text {
	char text[48];
};

static struct asked_text asked_text(uint64_t more)
{
	struct asked_text ret = { "" };

	if (more > 1)
		snprintf(ret.text, sizeof(ret.text),
		         "; %llu more are asked for", (unsigned long long)more);
	return ret;
}

/* Check that this queue's own limits allow `more` additional jobs of the user;
 * limits of queues above it are not checked. */
static int check_queue_counts(const struct state *state, uint32_t queue,
                              uint32_t user, uint64_t more, struct err *err)
{
	const struct conf_queue *cq = &state->conf->queues[queue];
	uint64_t n = state_queue_count(state, queue, false);

	if (cq->max_submit != CONF_NONE && n + more > (uint64_t)cq->max_submit)
		return err_set(
		    err, EAGAIN,
		    "queue '%s' holds %llu of at most %lld job%s "
		    "(max_submit)%s",
		    cq->name, (unsigned long long)n, (long long)cq->max_submit,
		    cq->max_submit == 1 ? "" : "s", asked_text(more).text);
	if (cq->max_submit_per_user == CONF_NONE)
		return 0;
	n = user_jobs(state, queue, user);
	if (n + more > (uint64_t)cq->max_submit_per_user)
		return err_set(err, EAGAIN,
		               "user '%s' has %llu of at most %lld job%s in "
		               "queue '%s' (max_submit_per_user)%s",
		               state_user(state, user)->name,
		               (unsigned long long)n,
		               (long long)cq->max_submit_per_user,
		               cq->max_submit_per_user == 1 ? "" : "s",
		               cq->name, asked_text(more).text);
	return 0;
}

/* Whether jobs of queue `of` count as jobs of queue q, too. */
static bool is_at_or_above(const struct conf *conf, int q, uint32_t of)
{
	int at = (int)of;

	while (at >= 0 && at != q)
		at = conf->queues[at].parent;
	return at == q;
}

int submit_check_move(const struct state *state, const struct job *job,
                      uint32_t queue, struct err *err)
{
	const struct conf *conf = state->conf;

	for (int q = (int)queue; q >= 0; q = conf->queues[q].parent)
		if (!is_at_or_above(conf, q, job->queue) &&
		    check_queue_counts(state, (uint32_t)q, job->user,
		                       job_count(job), err) < 0)
			return -1;
	return 0;
}

int submit_check_counts(struct state *state, uint32_t queue,
                        const struct submitter *who, uint64_t more,
                        struct err *err)
{
	const struct conf *conf = state->conf;
	uint64_t all = 0;
	uint32_t user;

	for (int s = 0; s < JOB_NSTATES; s++)
		if (!job_state_is_final((enum job_state)s))
			all += state->records.counts[s];
	if (all + more > (uint64_t)conf->max_jobs)
		return err_set(
		    err, EAGAIN,
		    "the queues hold %llu of at most %lld job%s "
		    "(max_jobs)%s",
		    (unsigned long long)all, (long long)conf->max_jobs,
		    conf->max_jobs == 1 ? "" : "s", asked_text(more).text);
	user = state_intern_user(state, who->uid, who->user);
	all = state_user(state, user)->njobs;
	if (!who->operator_ && all + more > (uint64_t)conf->max_user_jobs)
		return err_set(
		    err, EAGAIN,
		    "user '%s' has %llu job%s, counting each task "
		    "of arrays, of %lld allowed (max_user_jobs)%s; "
		    "more needs an operator",
		    who->user, (unsigned long long)all, all == 1 ? "" : "s",
		    (long long)conf->max_user_jobs, asked_text(more).text);
	for (int q = (int)queue; q >= 0; q = conf->queues[q].parent)
		if (check_queue_counts(state, (uint32_t)q, user, more, err) < 0)
			return -1;
	return 0;
}

/* --- whether the job could ever run ------------------------------------- */

/* Whether the named pool (NULL: any pool) has not listed its nodes yet. */
static bool may_still_come(const struct state *state, const char *pool)
{
	return pool ? !state_pool_is_ready(
			  state, (uint32_t)conf_pool_find(state->conf, pool))
	            : state_pool_unready(state) >= 0;
}

static int check_hosts(const struct state *state, const char *pool,
                       const char *what, const char *text, struct err *err)
{
	struct hostlist list;
	int result = 0;

	/* Accept any node name until the pools that may have the node have
	 * listed their nodes. If the node is missing then, the job waits with
	 * the reason NeverFits. */
	if (!text || may_still_come(state, pool))
		return 0;
	if (hostlist_parse(&list, text, err) < 0)
		return err_wrap(err, "--%s", what);
	for (size_t i = 0; i < list.n && result == 0; i++)
		if (state_node_find(state, list.name[i]) < 0)
			result = err_set(err, ENOENT,
			                 "--%s: there is no node '%s'; "
			                 "`aiq --nodes` lists them",
			                 what, list.name[i]);
	hostlist_free(&list);
	return result;
}

/* After no pool was found for a request: look for a pool that the request
 * allows but that cannot run it, and fail with the reason why it cannot.
 * Returns 0 if there is no such pool. */
static int check_runners(const struct state *state, const struct spec *spec,
                         struct err *err)
{
	const char *what = spec->image ? "--image" : "--mount";

	for (size_t i = 0; i < state->conf->npools; i++) {
		const struct conf_pool *pool = &state->conf->pools[i];
		const struct runner_traits *can = runner_traits(pool->runner);

		if (spec->pool && strcmp(pool->name, spec->pool) != 0)
			continue;
		if (spec->allocation != SPEC_UNSET && !can->is_here)
			return err_set(err, EINVAL,
			               "an allocation needs the pool of this "
			               "machine, and pool '%s' is a cluster: "
			               "submit a script",
			               pool->name);
		if (!pool_aligns(state, (uint32_t)i, spec, err))
			return -1;
		if ((spec->image || spec->mount) && !can->has_images)
			return err_set(err, EINVAL,
			               "%s: pool '%s' has no containers: name "
			               "the pool of a cluster with --pool",
			               what, pool->name);
	}
	return 0;
}

static int check_texts(const struct state *state, const struct spec *spec,
                       struct err *err)
{
	bool wish;
	int level;
	struct topology topology;
	int32_t rule[CONSTRAINT_MAX_ITEMS];
	size_t n;

	if (spec->constraint &&
	    constraint_parse(spec->constraint, NULL, NULL, rule,
	                     ARRAY_SIZE(rule), &n, err) < 0)
		return err_wrap(err, "constraint '%s'", spec->constraint);
	if (spec->constraint && constraint_alternatives(spec->constraint) &&
	    spec_may_spread(spec))
		return err_set(err, EINVAL,
		               "constraint '%s': several nodes must all have "
		               "the same of these features; name it",
		               spec->constraint);
	if (spec->topology &&
	    topology_parse(spec->topology, &state->conf->topology.levels,
	                   &topology, err) < 0)
		return err_wrap(err, "--topology");
	if (spec->spread &&
	    spread_parse(spec->spread, &state->conf->topology.levels, &level,
	                 &wish, err) < 0)
		return err_wrap(err, "--spread");
	if (spec->pool && conf_pool_find(state->conf, spec->pool) < 0)
		return err_set(err, ENOENT, "there is no pool '%s'",
		               spec->pool);
	if (check_hosts(state, spec->pool, "nodelist", spec->nodelist, err) <
	        0 ||
	    check_hosts(state, spec->pool, "exclude", spec->exclude, err) < 0)
		return -1;
	return 0;
}

static int check_licenses(const struct state *state, const struct spec *spec,
                          struct err *err)
{
	struct snap_license_use use[MAX_LICENSES];
	size_t n;

	if (!spec->licenses)
		return 0;
	return licenses_parse(state->conf, spec->licenses, use, &n, err);
}

static int check_devices(const struct state *state, const struct spec *spec,
                         struct err *err)
{
	const struct conf *conf = state->conf;
	struct device_counts devs;

	if (!spec->device || devices_parse(conf->device_names, conf->ndevices,
	                                   spec->device, &devs, err) == 0)
		return 0;
	return err_wrap(err, "--device");
}

int submit_time_limit(const struct state *state, const struct spec *spec,
                      uint32_t queue, int64_t *ret, struct err *err)
{
	const struct conf *conf = state->conf;
	int64_t limit = spec->time_limit;

	if (limit == SPEC_UNSET) {
		limit = TIME_UNLIMITED;
		for (int q = (int)queue; q >= 0 && limit == TIME_UNLIMITED;
		     q = conf->queues[q].parent)
			if (conf->queues[q].default_time != CONF_NONE)
				limit = conf->queues[q].default_time;
	}
	for (int q = (int)queue; q >= 0; q = conf->queues[q].parent) {
		int64_t max = conf->queues[q].max_time;
		struct buf text = { 0 };

		if (max == CONF_NONE ||
		    (limit != TIME_UNLIMITED && limit <= max))
			continue;
		if (spec->time_limit == SPEC_UNSET) {
			limit = max;
			continue;
		}
		format_duration(&text, max);
		err_set(err, EINVAL,
		        "queue '%s' allows a time limit of at most %s",
		        conf->queues[q].name, text.data);
		buf_free(&text);
		return -1;
	}
	*ret = limit;
	return 0;
}

int submit_check_priority(const struct state *state, const struct spec *spec,
                          uint32_t queue, const struct submitter *who,
                          struct err *err)
{
	int64_t usual = submit_class(state, spec, queue)->priority;

	if (spec->class && conf_class_find(state->conf, spec->class) < 0)
		return err_set(err, ENOENT, "there is no class '%s'",
		               spec->class);
	if (who->operator_)
		return 0;
	if (spec->priority != SPEC_UNSET && spec->priority > usual)
		return err_set(err, EPERM,
		               "priority %lld is above the class's %lld: "
		               "that needs an operator of queue '%s'",
		               (long long)spec->priority, (long long)usual,
		               state->conf->queues[queue].name);
	if (spec->nice != SPEC_UNSET && spec->nice < 0)
		return err_set(err, EPERM,
		               "a negative nice needs an operator of queue "
		               "'%s'",
		               state->conf->queues[queue].name);
	return 0;
}

int64_t submit_grace(const struct state *state, uint32_t queue)
{
	const struct conf_queue *queues = state->conf->queues;

	for (int q = (int)queue; q >= 0; q = queues[q].parent)
		if (queues[q].grace != CONF_NONE)
			return queues[q].grace;
	return GRACE_DEFAULT_S;
}

int submit_check_grace(const struct state *state, const struct spec *spec,
                       uint32_t queue, const struct submitter *who,
                       struct err *err)
{
	int64_t most = submit_grace(state, queue);
	struct buf text = { 0 };

	if (who->operator_ || spec->grace == SPEC_UNSET || spec->grace <= most)
		return 0;
	format_duration(&text, most);
	err_set(err, EPERM,
	        "queue '%s' allows a grace of at most %s: more needs one of "
	        "its operators",
	        state->conf->queues[queue].name, text.data);
	buf_free(&text);
	return -1;
}

static int check_idle(const struct state *state, const struct spec *spec,
                      uint32_t queue, struct err *err)
{
	const struct conf_queue *q = &state->conf->queues[queue];

	if (spec->no_idle_check != 1 || q->idle_gpu == CONF_NONE ||
	    q->idle_gpu_opt_out)
		return 0;
	return err_set(err, EACCES,
	               "queue '%s' does not allow --no-idle-check "
	               "(idle_gpu_opt_out)",
	               q->name);
}

static int check_times(const struct spec *spec, int64_t limit, int64_t now,
                       struct err *err)
{
	if (spec->deadline == SPEC_UNSET)
		return 0;
	if (spec->deadline <= now)
		return err_set(err, EINVAL, "the deadline has passed");
	if (limit != TIME_UNLIMITED && now + limit > spec->deadline)
		return err_set(err, EINVAL,
		               "the deadline comes before the time limit would "
		               "be reached");
	return 0;
}

static uint32_t array_count(const struct spec *spec)
{
	struct idset tasks = { 0 };
	uint32_t limit, n = 1;

	if (spec->array && idset_parse(&tasks, &limit, spec->array, NULL) == 0)
		n = idset_count(&tasks);
	idset_free(&tasks);
	return n;
}

/* Check that the request makes sense under this configuration, whether or not
 * it can ever run. */
static int check_request(struct state *state, const struct spec *spec,
                         const struct submitter *who, uint32_t queue,
                         int64_t now, struct err *err)
{
	struct deps *deps = NULL;
	struct request req;
	int64_t limit;

	if (spec_resolve(spec, 0, &req, err) < 0 ||
	    check_texts(state, spec, err) < 0 ||
	    check_licenses(state, spec, err) < 0 ||
	    check_devices(state, spec, err) < 0 ||
	    check_idle(state, spec, queue, err) < 0 ||
	    submit_check_priority(state, spec, queue, who, err) < 0 ||
	    submit_time_limit(state, spec, queue, &limit, err) < 0 ||
	    check_times(spec, limit, now, err) < 0)
		return -1;
	if (!spec_pools(state, spec, queue)) {
		if (check_runners(state, spec, err) < 0)
			return -1;
		return err_set(err, EINVAL, "queue '%s' may not use pool '%s'",
		               state->conf->queues[queue].name,
		               spec->pool ? spec->pool : "");
	}
	if (spec->dependency) {
		if (deps_parse(state, spec->dependency, &deps, err) < 0)
			return -1;
		free(deps);
	}
	return 0;
}

int submit_check_spec(struct state *state, const struct spec *spec,
                      const struct submitter *who, uint32_t queue, int64_t now,
                      struct err *err)
{
	struct job *job;
	int64_t limit;
	int result;

	if (check_request(state, spec, who, queue, now, err) < 0 ||
	    submit_time_limit(state, spec, queue, &limit, err) < 0 ||
	    reserve_check(state, spec, who, limit, err) < 0)
		return -1;
	if (!spec->cpus || !spec->mem)
		return err_set(err, EINVAL, "a task needs some %s",
		               spec->cpus ? "memory" : "CPU");
	job = state_make_job(state, spec, who, queue, state->next_id, now);
	result = state_check_fit(state, job, err);
	job_free(job);
	return result;
}

int state_check_submit(struct state *state, const struct spec *spec,
                       const struct submitter *who, int64_t now,
                       uint64_t *ahead, uint32_t *ret_queue, struct err *err)
{
	uint32_t queue, count = array_count(spec);

	if (submit_queue(state, spec, &queue, err) < 0 ||
	    submit_check_access(state, queue, who, err) < 0 ||
	    submit_check_class(state, spec, queue, who, err) < 0 ||
	    submit_check_grace(state, spec, queue, who, err) < 0 ||
	    letter_check(state, spec, who->user, err) < 0 ||
	    affinity_check(state, spec, who->uid, 0, err) < 0 ||
	    submit_check_spec(state, spec, who, queue, now, err) < 0 ||
	    submit_check_counts(state, queue, who, *ahead + count, err) < 0)
		return -1;
	*ahead += count;
	*ret_queue = queue;
	return 0;
}

int state_check_request(struct state *state, const struct spec *spec,
                        const struct submitter *who, int64_t now,
                        uint32_t *ret_queue, struct err *err)
{
	uint32_t queue;

	if (submit_queue(state, spec, &queue, err) < 0 ||
	    check_request(state, spec, who, queue, now, err) < 0 ||
	    affinity_check(state, spec, who->uid, 0, err) < 0)
		return -1;
	*ret_queue = queue;
	return 0;
}
