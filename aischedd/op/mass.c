/* mass.c - requests that cancel, hold or change many jobs, in slices over
 * several turns */
#include "aischedd/op/mass.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "aischedd/op/access.h"
#include "aischedd/op/audit.h"
#include "aischedd/op/filter.h"
#include "aischedd/op/op.h"
#include "aischedd/op/requeue.h"
#include "aischedd/state/acts.h"
#include "aischedd/state/life/cron.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/split.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/update.h"
#include "aischedd/store/ended.h"
#include "libcommon/clock.h"
#include "libcommon/jobid.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

enum {
	/* least number of steps charged for finding, or for changing, a job */
	STEPS_JOB = 20,
	/* steps that one request may use before the next request gets
	 * its turn */
	PIECE = STEPS_SLICE / 4,
	ENDED_MAX = 100 /* ended jobs per request to look up in the history */
};

enum mass_kind { MASS_CANCEL, MASS_SIGNAL, MASS_CONTROL, MASS_UPDATE };

/* One request that acts on many jobs. It is carried out to the end even if the
 * peer disconnects meanwhile. */
struct mass {
	struct slice slice;
	struct kept_ask ask;
	enum mass_kind kind;
	enum action action;
	struct run_signal signal;
	json_t *set; /* fields to change, for MASS_UPDATE */
	/* body of the request, from which `text` and `by` borrow */
	json_t *body;
	/* job ids of the request; those from text_at on have not been looked
	 * up yet */
	const char **text;
	size_t ntexts, text_at;
	/* If the request names no ids: filters that select the jobs. next_job
	 * is the id of the job to look at next (0: none is left), last_job that
	 * of the job looked at last. Jobs submitted after the request have ids
	 * from end_job on; they are left out. */
	struct filters by;
	bool mine;
	uint64_t next_job, last_job, end_job;
	struct map known; /* set of the record ids that are in `id` */
	/* ids of the records to act on; those before `at` are done */
	uint64_t *id;
	size_t n, cap, at;
	/* failed: ids of jobs with their errors; ids: ids of the jobs acted on,
	 * if the client asked for a list */
	json_t *failed, *ids;
	uint64_t count;
	uint32_t ended; /* ended jobs looked up in the history */
	/* a copy of the peer that sent the request */
	struct peer peer;
	char *user;
	gid_t *group;
	char **group_name;
};

static void mass_free(struct mass *m)
{
	for (size_t i = 0; i < m->peer.ngroups; i++)
		free(m->group_name[i]);
	free(m->group_name);
	free(m->group);
	free(m->user);
	free(m->id);
	free(m->text);
	map_free(&m->known);
	filters_fini(&m->by);
	json_decref(m->body);
	json_decref(m->set);
	json_decref(m->failed);
	json_decref(m->ids);
	free(m);
}

/* Returns a new mass request with its own copy of the peer, as the request's
 * peer is freed with the request. */
static struct mass *mass_new(const struct daemon *d, struct ask *ask,
                             const struct request_in *in)
{
	struct mass *m = xcalloc(1, sizeof(*m));
	const struct peer *peer = in->peer;

	m->ask = daemon_keep(d, ask);
	m->slice.uid = peer->uid;
	m->body = json_incref(in->body);
	m->failed = json_array();
	m->user = xstrdup(peer->user);
	m->group = xcalloc(peer->ngroups + 1, sizeof(*m->group));
	m->group_name = xcalloc(peer->ngroups + 1, sizeof(*m->group_name));
	for (size_t i = 0; i < peer->ngroups; i++) {
		m->group[i] = peer->group[i];
		m->group_name[i] = xstrdup(peer->group_name[i]);
	}
	m->peer = *peer;
	m->peer.user = m->user;
	m->peer.group = m->group;
	m->peer.group_name = (const char *const *)m->group_name;
	return m;
}

static void mass_add(struct mass *m, const struct job *job)
{
	if (map_find(&m->known, job->id))
		return;
	map_set(&m->known, job->id, m);
	m->id = GROW(m->id, m->n, &m->cap);
	m->id[m->n++] = job->id;
}

static void mass_fail(struct mass *m, const char *job, const struct err *err)
{
	json_array_append_new(m->failed,
	                      json_pack("{s:s, s:i, s:s}", "job", job, "code",
	                                err->code, "text", err->text));
}

/* Whether the action applies only to pending records of the array: it does if
 * the action holds or releases and the array has pending records. */
static bool wants_waiting(const struct mass *m, const struct array *array)
{
	const struct job *job = array->first;

	if (m->kind != MASS_CONTROL ||
	    (m->action != ACTION_hold && m->action != ACTION_uhold &&
	     m->action != ACTION_release))
		return false;
	for (; job && job->state != JOB_PENDING; job = job->array_next)
		steps_add(1);
	return job != NULL;
}

/* Returns the record to which the request applies: `job`, a part with those of
 * its tasks that are in `tasks`, which is split off, or NULL if it has none of
 * these. An empty set stands for all tasks. */
static struct job *part_of(struct daemon *d, const struct mass *m,
                           struct job *job, const struct idset *tasks)
{
	if (!tasks->n)
		return job;
	if (job->task != NO_TASK)
		return idset_has(tasks, job->task) ? job : NULL;
	return access_job(d, &m->peer, job)
	           ? state_split(d->state, job, tasks, clock_wall_s())
	           : job;
}

/* Add to the request the records of an array: all of them or, if `tasks` is not
 * empty, those with these tasks. Returns whether any record was found. */
static bool add_array(struct daemon *d, struct mass *m,
                      const struct array *array, const struct idset *tasks)
{
	bool any = false, waiting = !tasks->n && wants_waiting(m, array);
	bool one = tasks->n == 1 && idset_count(tasks) == 1;
	struct job *job = array->first, *next;

	if (one)
		job = state_task(d->state, array->id, idset_min(tasks));
	for (; job; job = next) {
		struct job *part;

		next = one ? NULL : job->array_next;
		steps_add(1);
		part = part_of(d, m, job, tasks);
		if (part && (!waiting || part->state == JOB_PENDING))
			mass_add(m, part);
		any = any || part;
	}
	return any;
}

static bool requeues(const struct mass *m)
{
	return m->kind == MASS_CONTROL &&
	       (m->action == ACTION_requeue || m->action == ACTION_requeuehold);
}

static const char *job_text(const struct job *job, char *text, size_t size)
{
	struct buf id = { 0 };

	job_display_id(job, 0, &id);
	snprintf(text, size, "%s", id.data);
	buf_free(&id);
	return text;
}

static const char *act_name(const struct mass *m)
{
	static const char *const names[] = {
		[MASS_CANCEL] = "cancel",
		[MASS_SIGNAL] = "signal",
		[MASS_UPDATE] = "update",
	};

	return m->kind == MASS_CONTROL ? action_name(m->action)
	                               : names[m->kind];
}

/* Whether a hold of the job by this peer counts as an operator's hold. A hold
 * by an operator on their own job does not, unless the operator is root. */
static bool holds_as_operator(const struct daemon *d, const struct mass *m,
                              const struct job *job)
{
	return access_operates(d, &m->peer, job->queue) &&
	       (job->uid != m->peer.uid || m->peer.uid == 0);
}

/* After a job was requeued from the history: record in it who requeued it, and
 * for "requeuehold" also hold it. */
static void note_requeue(struct daemon *d, const struct mass *m, uint64_t id,
                         uint32_t task)
{
	struct job *job = task == NO_TASK ? state_job(d->state, id)
	                                  : state_task(d->state, id, task);
	struct event_in ev = { .kind = EV_hold,
		               .now = clock_wall_s(),
		               .by_operator = holds_as_operator(d, m, job) };
	char text[64], *was = job->acts;
	struct err err;

	if (m->action == ACTION_requeuehold)
		state_event(d->state, job, &ev, &err);
	job->acts = acts_add(was, clock_wall_s(), act_name(m), m->peer.user);
	free(was);
	acts_changed(d->state, job->id);
	audit_job(d, &m->peer, act_name(m), job->id,
	          job_text(job, text, sizeof(text)),
	          state_user(d->state, job->user)->name, NULL);
}

static void requeue_past(struct daemon *d, struct mass *m, const char *text,
                         uint64_t id, uint32_t task)
{
	struct err err;
	int result;

	if (m->ended++ < ENDED_MAX)
		result = op_requeue_ended(d, &m->peer, id, task, &err);
	else
		result = err_set(&err, E2BIG,
		                 "job %s has ended: a request may requeue at "
		                 "most %d ended jobs, so name fewer",
		                 text, ENDED_MAX);
	if (result < 0) {
		mass_fail(m, text, &err);
		return;
	}
	m->count++;
	note_requeue(d, m, id, task);
}

/* Requeue the ended jobs or tasks among those that `text` names. Returns
 * whether some of the named jobs or tasks have not ended: the caller must
 * handle these. */
static bool requeue_ended_of(struct daemon *d, struct mass *m, const char *text,
                             const struct jobid *id)
{
	uint32_t left = 0;

	if (!id->tasks.n) {
		if (state_job(d->state, id->job) ||
		    state_array(d->state, id->job))
			return true;
		requeue_past(d, m, text, id->job, NO_TASK);
		return false;
	}
	for (int64_t t = -1;
	     (t = idset_next(&id->tasks, t)) >= 0 && m->ended <= ENDED_MAX;)
		if (state_task(d->state, id->job, (uint32_t)t))
			left++;
		else
			requeue_past(d, m, text, id->job, (uint32_t)t);
	return left > 0;
}

static void add_id(struct daemon *d, struct mass *m, const char *text)
{
	const struct array *array;
	struct jobid id;
	struct past past;
	struct job *job;
	struct err err;
	uint32_t task;

	if (jobid_parse(&id, text, &err) < 0) {
		mass_fail(m, text, &err);
		return;
	}
	if (requeues(m) && !requeue_ended_of(d, m, text, &id)) {
		idset_free(&id.tasks);
		return;
	}
	job = state_job(d->state, id.job);
	array = state_array(d->state, id.job);
	task = id.tasks.n == 1 && idset_count(&id.tasks) == 1
	           ? idset_min(&id.tasks)
	           : NO_TASK;
	if (!state_cron(d->state, id.job) &&
	    !access_sees(d, &m->peer, id.job, task)) {
		err_set(&err, ENOENT, "there is no job %s", text);
		mass_fail(m, text, &err);
	} else if (!id.tasks.n && job && !job->array) {
		mass_add(m, job);
	} else if (array && add_array(d, m, array, &id.tasks)) {
		/* add_array() has added the records */
	} else if (!id.tasks.n && job) {
		mass_add(m, job); /* a record of an array, by its own id */
	} else if (task == NO_TASK
	               ? store_has(d->store, id.job)
	               : store_past(id.job, task, &past, d->store) == 0) {
		err_set(&err, EINVAL, "job %s has ended", text);
		if (m->kind != MASS_CANCEL)
			mass_fail(m, text, &err);
	} else if (state_cron(d->state, id.job)) {
		err_set(&err, EINVAL,
		        "%s is a cron entry: `aictl cron delete %s`", text,
		        text);
		mass_fail(m, text, &err);
	} else {
		err_set(&err, ENOENT, "there is no job %s", text);
		mass_fail(m, text, &err);
	}
	idset_free(&id.tasks);
}

static bool matches(const struct daemon *d, const struct job *job,
                    const struct filters *by)
{
	struct spec spec;

	if (!filter_has_state(by, (enum job_state)job->state) ||
	    !filter_has(&by->queues, d->conf->queues[job->queue].name) ||
	    !filter_has(&by->users, state_user(d->state, job->user)->name))
		return false;
	if (by->names.all && by->labels.all)
		return true;
	spec_unpack(&spec, job->packed);
	return filter_has(&by->names, spec.name) &&
	       filter_labels(by, spec.labels);
}

static void add_matching(struct daemon *d, struct mass *m, uint64_t until)
{
	struct job *job = filter_resume(d->state, m->next_job, m->last_job);

	for (; job && job->id < m->end_job && steps_so_far < until;
	     job = job->all_next) {
		steps_add(1);
		if ((!m->mine || job->uid == m->peer.uid) &&
		    !job_state_is_final((enum job_state)job->state) &&
		    access_job(d, &m->peer, job) && matches(d, job, &m->by))
			mass_add(m, job);
		m->last_job = job->id;
	}
	m->next_job = job && job->id < m->end_job ? job->id : 0;
}

struct operator_of {
	const struct daemon *d;
	const struct peer *peer;
};

static bool operates(uint32_t queue, const void *arg)
{
	const struct operator_of *o = arg;

	return access_operates(o->d, o->peer, queue);
}

static int update_one(struct daemon *d, const struct mass *m, struct job *job,
                      struct err *err)
{
	struct submitter who = access_submitter(&m->peer);
	size_t n = 0, most = json_object_size(m->set);
	struct assignment *set = xcalloc(most ? most : 1, sizeof(*set));
	const char *field;
	json_t *value;
	int result;

	who.operator_ = access_operates(d, &m->peer, job->queue);
	who.operates = operates;
	who.operates_arg = &(struct operator_of){ d, &m->peer };
	json_object_foreach(m->set, field, value)
		set[n++] =
		    (struct assignment){ field, json_string_value(value) };
	result = state_update(d->state, job, &who, set, n, clock_wall_s(), err);
	free(set);
	return result;
}

static int control_one(struct daemon *d, const struct mass *m, struct job *job,
                       struct err *err)
{
	static const enum event_kind kinds[ACTION_N] = {
		[ACTION_hold] = EV_hold,
		[ACTION_uhold] = EV_hold,
		[ACTION_release] = EV_release,
		[ACTION_suspend] = EV_suspend,
		[ACTION_resume] = EV_resume,
		[ACTION_requeue] = EV_requeue,
		[ACTION_preempt] = EV_preempt,
		[ACTION_requeuehold] = EV_requeue,
	};
	bool operates = access_operates(d, &m->peer, job->queue);
	struct event_in ev = {
		.kind = kinds[m->action],
		.now = clock_wall_s(),
		.by_operator = operates,
		.by_other = state_user(d->state, job->user)->uid != m->peer.uid
	};

	if (action_role(m->action) >= ROLE_OPERATOR && !operates)
		return err_set(err, EPERM,
		               "%s needs an operator of queue '%s'; you are "
		               "'%s'",
		               action_name(m->action),
		               d->conf->queues[job->queue].name, m->peer.user);
	if (m->action == ACTION_top)
		return state_top(d->state, job, err);
	ev.hold = m->action == ACTION_requeuehold;
	if (ev.hold || m->action == ACTION_hold)
		ev.by_operator = holds_as_operator(d, m, job);
	ev.lenient = m->action == ACTION_uhold && operates;
	return state_event(d->state, job, &ev, err);
}

static int mass_one(struct daemon *d, const struct mass *m, struct job *job,
                    struct err *err)
{
	struct event_in ev = { .now = clock_wall_s(), .signal = m->signal };

	if (!access_job(d, &m->peer, job))
		return err_set(err, EPERM,
		               "job %s is %s's: you are '%s' and no operator "
		               "of queue '%s'",
		               job_id_text(job).text,
		               state_user(d->state, job->user)->name,
		               m->peer.user, d->conf->queues[job->queue].name);
	switch (m->kind) {
	case MASS_CANCEL:
		ev.kind = EV_cancel;
		return state_event(d->state, job, &ev, err);
	case MASS_SIGNAL:
		ev.kind = EV_signal;
		return state_event(d->state, job, &ev, err);
	case MASS_CONTROL:
		return control_one(d, m, job, err);
	case MASS_UPDATE:
		return update_one(d, m, job, err);
	}
	return 0;
}

/* Apply the action to the record and note in it who did this. If the action
 * splits the record, the new records get the note, too. */
static int act_on(struct daemon *d, const struct mass *m, struct job *job,
                  const char *display_id, struct err *err)
{
	const char *owner = state_user(d->state, job->user)->name;
	uint64_t id = job->id;
	char *was = job->acts;
	bool over = job_state_is_final((enum job_state)job->state);

	if (!over)
		job->acts =
		    acts_add(was, clock_wall_s(), act_name(m), m->peer.user);
	if (mass_one(d, m, job, err) < 0) {
		if (!over)
			free(job->acts);
		job->acts = was;
		return -1;
	}
	if (over)
		return 0;
	free(was);
	acts_changed(d->state, id);
	audit_job(d, &m->peer, act_name(m), id, display_id, owner, NULL);
	return 0;
}

static void do_one(struct daemon *d, struct mass *m, struct job *job)
{
	char text[64];
	struct err err;

	job_text(job, text, sizeof(text));
	if (m->ids)
		json_array_append_new(m->ids, json_string(text));
	if (act_on(d, m, job, text, &err) < 0)
		mass_fail(m, text, &err);
	else
		m->count++;
}

/* Do one slice of the request; returns whether the whole request is done. All
 * records are found before the first one is changed. */
static bool mass_slice(struct daemon *d, struct mass *m)
{
	uint64_t until = steps_so_far + PIECE;

	while (m->text_at < m->ntexts && steps_so_far < until) {
		add_id(d, m, m->text[m->text_at++]);
		steps_add(STEPS_JOB);
	}
	if (m->next_job)
		add_matching(d, m, until);
	if (m->text_at < m->ntexts || m->next_job)
		return false;
	for (; m->at < m->n && steps_so_far < until; m->at++) {
		struct job *job = state_job(d->state, m->id[m->at]);

		if (job) /* NULL if the job has ended since it was found */
			do_one(d, m, job);
		steps_add(STEPS_JOB);
	}
	return m->at == m->n;
}

static void mass_answer(struct daemon *d, struct mass *m)
{
	json_t *body;

	if (!daemon_is_open(d, &m->ask))
		return;
	body = json_pack("{s:I, s:O}", "count", (json_int_t)m->count, "failed",
	                 m->failed);
	if (m->ids)
		json_object_set(body, "ids", m->ids);
	daemon_answer(d, m->ask.ask, body);
}

static struct mass *of_slice(struct slice *slice)
{
	return (void *)((char *)slice - offsetof(struct mass, slice));
}

void daemon_slice_masses(struct daemon *d)
{
	uint64_t until = steps_so_far + steps_slice();
	struct slice *slice;

	while (steps_so_far < until && (slice = slices_take(&d->masses))) {
		struct mass *m = of_slice(slice);
		uint64_t before = steps_so_far;
		bool done = mass_slice(d, m);

		slices_charge(&d->masses, slice->uid, steps_so_far - before);
		if (!done) {
			slices_add(&d->masses, slice);
			continue;
		}
		mass_answer(d, m);
		mass_free(m);
	}
	if (!TAILQ_EMPTY(&d->masses.queue))
		daemon_go_on(d);
}

void daemon_free_masses(struct daemon *d)
{
	struct slice *slice;

	while ((slice = slices_take(&d->masses)))
		mass_free(of_slice(slice));
}

static void read_ids(struct mass *m, const json_t *ids)
{
	m->text = xcalloc(json_array_size(ids) + 1, sizeof(*m->text));
	m->ntexts = filter_unique(ids, m->text);
}

/* Select jobs by the request's filters. If these name no users, only the
 * requester's own jobs are selected, or those of all users if an admin asked
 * with --all. */
static int read_matching(struct daemon *d, struct mass *m, struct err *err)
{
	const struct job *first = state_first_job(d->state);

	filters_init(&m->by, m->body);
	m->mine = m->by.users.all &&
	          !(json_is_true(json_object_get(m->body, "all")) &&
	            access_role(d, &m->peer) == ROLE_ADMIN);
	m->next_job = first ? first->id : 0;
	m->end_job = state_next_id(d->state);
	return filter_check_labels(&m->by, err) < 0
	           ? -1
	           : filter_check(d, &m->by, err);
}

static int read_signal(struct mass *m, json_t *body, struct err *err)
{
	const char *name = json_string_value(json_object_get(body, "scope"));
	const json_t *step = json_object_get(body, "step");
	int scope = name ? signal_scope_parse(name) : SIGNAL_job;
	int64_t signo = json_integer_value(json_object_get(body, "signal"));

	if (signo < 0 || signo > 64)
		return err_set(err, EINVAL, "there is no signal %lld",
		               (long long)signo);
	if (scope < 0)
		return err_set(err, EINVAL,
		               "there is no scope '%s': use job, script, "
		               "steps or all",
		               name);
	m->signal = (struct run_signal){
		.signo = (int)signo,
		.scope = step ? SIGNAL_steps : (enum signal_scope)scope,
		.step = step ? json_integer_value(step) : -1,
	};
	if (step && m->signal.step < 0)
		return err_set(err, EINVAL, "there is no step %lld",
		               (long long)m->signal.step);
	m->kind = signo || step ? MASS_SIGNAL : MASS_CANCEL;
	return 0;
}

static int read_cancel(struct daemon *d, struct mass *m, json_t *body,
                       struct err *err)
{
	json_t *ids = json_object_get(body, "ids");

	if (read_signal(m, body, err) < 0)
		return -1;
	if (json_is_true(json_object_get(body, "list")))
		m->ids = json_array();
	if (!ids)
		return read_matching(d, m, err);
	read_ids(m, ids);
	return 0;
}

static int read_control(struct mass *m, json_t *body, struct err *err)
{
	const char *name;
	json_t *ids;
	json_error_t e;
	int action;

	m->kind = MASS_CONTROL;
	if (json_unpack_ex(body, &e, JSON_STRICT, "{s:s, s:s, s:o}", "op",
	                   &(const char *){ NULL }, "action", &name, "ids",
	                   &ids) < 0)
		return err_set(err, EPROTO, "control: %s", e.text);
	action = action_parse(name);
	if (action < 0)
		return err_set(err, EPROTO, "there is no action '%s'", name);
	m->action = (enum action)action;
	read_ids(m, ids);
	return 0;
}

static int read_update(struct mass *m, json_t *body, struct err *err)
{
	json_t *ids, *set;
	json_error_t e;

	m->kind = MASS_UPDATE;
	if (json_unpack_ex(body, &e, JSON_STRICT, "{s:s, s:o, s:o}", "op",
	                   &(const char *){ NULL }, "ids", &ids, "set",
	                   &set) < 0)
		return err_set(err, EPROTO, "update: %s", e.text);
	m->set = json_incref(set);
	read_ids(m, ids);
	return 0;
}

int op_mass(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	struct mass *m = mass_new(d, ask, in);
	int result = in->op == OP_cancel    ? read_cancel(d, m, in->body, err)
	             : in->op == OP_control ? read_control(m, in->body, err)
	                                    : read_update(m, in->body, err);

	if (result < 0) {
		mass_free(m);
		return -1;
	}
	/* The think step of this same turn does the first slice. */
	slices_add(&d->masses, &m->slice);
	return 0;
}
