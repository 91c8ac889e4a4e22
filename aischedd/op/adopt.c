/* adopt.c - take over Jobs that others made in a cluster, run them, and tell
 * their owners why they wait */
#include "aischedd/op/adopt.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/daemon.h"
#include "aischedd/state/life/adopt.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/life/update.h"
#include "aischedd/state/pass/why.h"
#include "aischedd/store/blob.h"
#include "aischedd/store/ended.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"
#include "libcommon/spec/spec_marks.h"

/* Least seconds between two explanations sent to a cluster. An explanation
 * after every pass would be more than users can read. */
enum { EXPLAIN_S = 1 };

static struct runner *runner_at(const struct daemon *d, uint32_t pool)
{
	return pool < d->npools ? d->pool[pool].runner : NULL;
}

/* --- submitting a job for a Job ---------------------------------------- */

static bool no_group(const char *group, const void *arg)
{
	(void)group, (void)arg;
	return false;
}

/* Find the job that was submitted for the Job with this uid. Its submission
 * token contains the uid, so that no Job is taken over twice. */
static bool find(struct daemon *d, const char *uid, uint32_t owner,
                 uint64_t *ret)
{
	char token[64];
	uint32_t count;

	snprintf(token, sizeof(token), "kube:%.50s", uid);
	return store_token_find(d->store, token, owner, ret, &count);
}

static void keep(struct daemon *d, const char *uid, uint32_t owner,
                 uint64_t job, int64_t now)
{
	char token[64];

	snprintf(token, sizeof(token), "kube:%.50s", uid);
	store_token(d->store, token, owner, job, 1, now);
}

/* Returns the name of the configured class that stands for this PriorityClass,
 * or NULL. */
static const char *class_of(const struct conf *conf, const char *priority_class)
{
	for (size_t i = 0; *priority_class && i < conf->nclasses; i++) {
		const struct conf_class *c = &conf->classes[i];

		if (!strcmp(c->priority_class ? c->priority_class : c->name,
		            priority_class))
			return c->name;
	}
	return NULL;
}

static int take(struct daemon *d, const struct adoption *a, uint32_t owner,
                struct err *err)
{
	const struct submitter who = { .uid = owner,
		                       .gid = owner,
		                       .user = a->user,
		                       .in_group = no_group };
	int64_t now = clock_wall_s(), nothing;
	struct spec spec = *a->spec;
	uint64_t ahead = 0, id;
	uint32_t queue;

	if (d->full) {
		*err = d->full_err;
		return -1;
	}
	spec.kube_marks = a->marks;
	if (!spec.class)
		spec.class = class_of(d->conf, a->priority_class);
	if (state_check_submit(d->state, &spec, &who, now, &ahead, &queue,
	                       err) < 0 ||
	    (nothing = store_blob(d->store, "", 0, err)) < 0)
		return -1;
	id = state_take_ids(d->state, 1);
	state_submit(d->state, &spec, &who, queue, nothing, nothing, id, now);
	keep(d, a->uid, owner, id, now);
	log_info("job adopt job=%llu job_of=%s user=%s queue=%s",
	         (unsigned long long)id, a->name, a->user, spec.queue);
	return 0;
}

/* Apply to a pending job what its owner has changed in the Job. Other options
 * of the job stay as they are, because `aictl update` may have set them. */
static int reread(struct daemon *d, struct job *job, const struct adoption *a,
                  uint32_t owner, struct err *err)
{
	const struct submitter who = { .uid = owner,
		                       .gid = owner,
		                       .user = a->user,
		                       .in_group = no_group };
	const uint64_t id = job->id;
	struct spec spec;

	if (d->full) {
		*err = d->full_err;
		return -1;
	}
	if (job->uid != owner)
		return err_set(
		    err, EPERM,
		    "the user of a job cannot change: delete the Job "
		    "and create it again");
	spec_unpack(&spec, job->packed);
	if (spec.kube_marks && !strcmp(spec.kube_marks, a->marks)) {
		adopt_tell(d->state, job);
		return 0;
	}
	/* A job that an older daemon adopted has no kube_marks, so what was
	 * changed is not known: take no field from the Job. */
	spec_take_marked(&spec, a->spec,
	                 spec.kube_marks ? spec.kube_marks : a->marks,
	                 a->marks);
	spec.kube_marks = a->marks;
	if (!spec.class)
		spec.class = class_of(d->conf, a->priority_class);
	if (state_reread(d->state, job, &who, &spec, clock_wall_s(), err) < 0)
		return -1;
	log_info("job reread job=%llu job_of=%s user=%s",
	         (unsigned long long)id, a->name, a->user);
	return 0;
}

static void refuse(const struct pool_runner *p, const struct adoption *a,
                   const char *why)
{
	struct adopted no = { .uid = a->uid, .why = why };

	if (p->runner->ops->adopt(p->runner, &no))
		log_warning("job refuse job_of=%s user=%s: %s", a->name,
		            a->user, why);
}

/* Tell the runner that the job taken over from this Job has ended, though the
 * Job still exists in the cluster. */
static void say_over(const struct pool_runner *p, const char *uid, uint64_t id)
{
	struct adopted over = { .uid = uid, .job = id };
	struct past past;

	/* A job that the history no longer has is reported as cancelled, so
	 * that the Job is not run again. */
	over.state = JOB_CANCELLED;
	if (store_past(id, NO_TASK, &past, p->daemon->store) == 0)
		over.state = past.state;
	p->runner->ops->adopt(p->runner, &over);
}

void daemon_adopt(struct pool_runner *p, const struct adoption *a)
{
	struct daemon *d = p->daemon;
	uint32_t owner = state_foreign_uid(d->state, a->user);
	uint64_t id = a->job;
	struct job *job;
	struct err err;

	if (!a->spec) {
		refuse(p, a, a->why);
	} else if (!id && !find(d, a->uid, owner, &id)) {
		if (take(d, a, owner, &err) < 0)
			refuse(p, a, err.text);
	} else if (!(job = state_job(d->state, id))) {
		say_over(p, a->uid, id);
	} else if (job->state == JOB_PENDING &&
	           reread(d, job, a, owner, &err) < 0) {
		refuse(p, a, err.text);
	}
	/* If a job was submitted or changed for this Job, daemon_adopted()
	 * tells the runner after the commit. */
}

/* --- following adopted jobs -------------------------------------------- */

void daemon_adopted(struct daemon *d, const struct effect *e)
{
	struct runner *runner = runner_at(d, e->pool);
	struct adopted is = { .job = e->job, .state = e->state };
	struct job *job = state_job(d->state, e->job);
	struct adoptee *a = map_find(&d->adoptees, e->job);
	struct spec spec;

	if (!runner || !runner->ops->adopt)
		return;
	if (job) {
		spec_unpack(&spec, job->packed);
		is.uid = spec.kube_uid;
		is.marks = spec.kube_marks;
		is.state = (enum job_state)job->state;
	}
	if (!job) {
		free(map_del(&d->adoptees, e->job));
	} else if (!a) {
		a = xcalloc(1, sizeof(*a));
		a->job = e->job;
		map_set(&d->adoptees, e->job, a);
	}
	runner->ops->adopt(runner, &is);
}

void daemon_take_back(struct daemon *d, const struct run_event *ev)
{
	struct job *job = state_job(d->state, ev->job);
	struct event_in in = { .kind = EV_requeue,
		               .now = clock_wall_s(),
		               .attempt = ev->attempt };

	if (!job || state_event(d->state, job, &in, NULL) == 0)
		return;
	in.kind = EV_cancel;
	state_event(d->state, job, &in, NULL);
}

/* --- telling owners why their jobs wait -------------------------------- */

static void explain(struct daemon *d, struct adoptee *a)
{
	const struct job *job = state_job(d->state, a->job);
	struct buf text = { 0 };
	struct runner *runner;
	int64_t expected;
	uint32_t position;
	enum reason why;
	struct spec spec;

	if (!job || job->state != JOB_PENDING) {
		a->waits = false;
		return;
	}
	why = state_why(d->state, job, clock_wall_s(), &text, &expected,
	                &position);
	if (!a->waits || a->told != why) {
		spec_unpack(&spec, job->packed);
		runner =
		    runner_at(d, (uint32_t)conf_pool_find(d->conf, spec.pool));
		if (runner)
			runner->ops->explain(runner, a->job, reason_name(why),
			                     text.data ? text.data : "");
		a->waits = true;
		a->told = why;
	}
	buf_free(&text);
}

static void explain_all(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;
	struct adoptee *a;
	size_t at = 0;

	(void)fd, (void)what;
	while ((a = map_each(&d->adoptees, &at)))
		explain(d, a);
}

void daemon_explain_soon(struct daemon *d)
{
	struct timeval soon = { .tv_sec = EXPLAIN_S };

	if (!d->adoptees.n)
		return;
	if (!d->explain)
		d->explain = evtimer_new(d->base, explain_all, d);
	if (!evtimer_pending(d->explain, NULL))
		event_add(d->explain, &soon);
}

void daemon_free_adoptees(struct daemon *d)
{
	struct adoptee *a;
	size_t at = 0;

	if (d->explain)
		event_free(d->explain);
	while ((a = map_each(&d->adoptees, &at)))
		free(a);
	map_free(&d->adoptees);
}
