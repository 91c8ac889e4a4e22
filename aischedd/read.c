/* read.c - listings, written piece by piece between turns */
#include <stdlib.h>
#include <string.h>

#include "aischedd/filter.h"
#include "aischedd/listing.h"
#include "aischedd/op.h"
#include "aischedd/run/output.h"
#include "aischedd/sched/snap_text.h"
#include "aischedd/thread.h"
#include "libcommon/jobid.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"

enum {
	PIECE = 256 * 1024, /* bytes of one part */
	PAST_ROWS = 2000    /* rows read from history at once */
};

/* One id that was asked for. */
struct wanted {
	char *text;
	struct jobid id;
	bool found;
};

/* Lists of texts that were asked for; NULL: all. */
struct filters {
	const json_t *users, *queues, *states, *names, *nodes;
};

/*
 * One listing under way: first what is in the state, by the numbers taken at
 * its begin, then what is in the history.
 */
struct reading {
	struct reading *next;
	struct daemon *d;
	struct ask *ask;
	struct listing listing;
	json_t *body; /* what the filters borrow */
	struct filters by;
	uint64_t rows;
	struct buf out;

	uint64_t *active; /* ids, or indices of nodes and queues */
	size_t nactive, active_at;
	/* Or all jobs: where to go on, 0: nowhere; the first that came after
	 * the listing began; the one before where to go on. */
	uint64_t next_job, end_job, last_job;

	bool past;              /* history is wanted */
	struct map active_told; /* ids, then: they may end before it is read */
	bool in_thread, gone;   /* gone: nobody waits for it */
	/* history, on its thread */
	struct task task;
	struct history_query query;
	char *store_path;
	int result;
	struct err err;
	struct wanted *wanted; /* NULL: no ids were given */
	size_t nwanted, wanted_at;
	size_t past_rows; /* of the present query */

	char *only_user; /* NULL: everybody's */
	bool users_given;
};

static void reading_free(struct reading *r)
{
	struct reading **at = &r->d->readings;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	for (size_t i = 0; i < r->nwanted; i++) {
		free(r->wanted[i].text);
		idset_free(&r->wanted[i].id.tasks);
	}
	free(r->wanted);
	free(r->active);
	map_free(&r->active_told);
	free(r->only_user);
	free(r->store_path);
	buf_free(&r->out);
	json_decref(r->body);
	free(r);
}

void daemon_reading_gone(struct daemon *d, const struct ask *ask)
{
	for (struct reading *r = d->readings; r; r = r->next) {
		if (r->ask != ask)
			continue;
		r->gone = true;
		if (!r->in_thread)
			reading_free(r);
		return;
	}
}

void daemon_free_readings(struct daemon *d)
{
	while (d->readings)
		reading_free(d->readings);
}

/* --- which rows -------------------------------------------------------- */

static bool on_node(const json_t *list, const char *node, size_t len)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = json_string_value(json_array_get(list, i));

		if (s && strlen(s) == len && !strncmp(s, node, len))
			return true;
	}
	return false;
}

static bool fits(const struct reading *r, const struct job *job,
                 const char *user, const char *queue)
{
	struct spec spec;

	if ((r->only_user && strcmp(r->only_user, user)) ||
	    !filter_has_text(r->by.users, user) ||
	    !filter_has_text(r->by.queues, queue) ||
	    !filter_has_state(r->by.states, (enum job_state)job->state))
		return false;
	if (!r->by.names)
		return true;
	spec_unpack(&spec, job->packed);
	return filter_has_text(r->by.names, spec.name);
}

/* Whether some of these tasks of its array are in the record; none: all. */
static bool is_meant(const struct idset *tasks, const struct job *job)
{
	if (!tasks->n)
		return true;
	if (job->task != NO_TASK)
		return idset_has(tasks, job->task);
	for (int64_t t = -1; (t = idset_next(tasks, t)) >= 0;)
		if (idset_has(&job->tasks, (uint32_t)t))
			return true;
	return false;
}

static bool fits_active(const struct reading *r, const struct job *job)
{
	const struct state *state = r->d->state;
	bool there = !r->by.nodes;

	if (!fits(r, job, state_user(state, job->user)->name,
	          r->d->conf->queues[job->queue].name))
		return false;
	for (uint32_t i = 0; !there && job->place && i < job->place->ntasks;
	     i++) {
		const char *name =
		    state_node(state, job->place->task[i].node)->name;

		there = on_node(r->by.nodes, name, strlen(name));
	}
	return there;
}

static bool placed_on(const char *place, const json_t *nodes)
{
	for (const char *s = place; s && *s;) {
		const char *end = strchr(s, ';');

		if (on_node(nodes, s, strcspn(s, ":")))
			return true;
		s = end ? end + 1 : NULL;
	}
	return false;
}

/* On the history's thread: nothing but the reading itself is touched. */
static void past_row(const struct past_job *past, void *arg)
{
	struct reading *r = arg;
	const struct job *job = &past->job;

	r->past_rows++;
	r->query.after = job->end;
	r->query.after_id = job->id;
	if (r->wanted) {
		if (!is_meant(&r->wanted[r->wanted_at].id.tasks, job))
			return;
		r->wanted[r->wanted_at].found = true;
	}
	if (map_find(&r->active_told, job->id) ||
	    !fits(r, job, past->user, past->queue))
		return;
	if (r->by.nodes && !placed_on(past->place, r->by.nodes))
		return;
	listing_past(&r->listing, past, &r->out);
	r->rows++;
}

/* --- step by step ------------------------------------------------------ */

static void step(struct ask *ask, void *arg);

static void finish(struct reading *r)
{
	json_t *missing = json_array();

	for (size_t i = 0; i < r->nwanted; i++)
		if (!r->wanted[i].found)
			json_array_append_new(missing,
			                      json_string(r->wanted[i].text));
	daemon_end_ask(r->d, r->ask);
	rpc_reply(r->ask, json_pack("{s:I, s:o}", "rows", (json_int_t)r->rows,
	                            "missing", missing));
	reading_free(r);
}

static void flush(struct reading *r)
{
	if (r->out.len)
		rpc_part(r->ask, r->out.data, r->out.len);
	buf_clear(&r->out);
	rpc_when_drained(r->ask, step, r);
}

static struct reading *of_task(struct task *task)
{
	return (struct reading *)(void *)((char *)task -
	                                  offsetof(struct reading, task));
}

static void read_past(struct task *task)
{
	struct reading *r = of_task(task);

	r->result =
	    store_history(r->store_path, &r->query, past_row, r, &r->err);
}

static void past_done(struct task *task)
{
	struct reading *r = of_task(task);

	r->in_thread = false;
	if (r->gone) {
		reading_free(r);
		return;
	}
	if (r->result < 0) {
		daemon_refuse(r->d, r->ask, &r->err);
		reading_free(r);
		return;
	}
	if (r->past_rows < PAST_ROWS) {
		/* That was all of this query. */
		r->query.after = NO_TIME;
		r->wanted_at++;
	}
	flush(r);
}

static void ask_past(struct reading *r)
{
	if (r->wanted) {
		const struct jobid *id = &r->wanted[r->wanted_at].id;

		r->query.id = id->job;
		r->query.task = id->tasks.n && idset_count(&id->tasks) == 1
		                    ? idset_min(&id->tasks)
		                    : NO_TASK;
	}
	if (!r->store_path)
		r->store_path = xstrdup(store_path(r->d->store));
	r->query.ended_only = true;
	r->query.limit = PAST_ROWS;
	r->task = (struct task){ .work = read_past, .done = past_done };
	r->past_rows = 0;
	r->in_thread = true;
	thread_do(r->d->history, &r->task);
}

static void write_job(struct reading *r, const struct job *job, int64_t now)
{
	if (job_state_is_final((enum job_state)job->state) ||
	    (!job->tasks.n && job->array && job->task == NO_TASK) ||
	    !fits_active(r, job))
		return;
	listing_job(&r->listing, r->d->state, job, now, &r->out);
	if (r->past)
		map_set(&r->active_told, job->id, r);
	r->rows++;
}

static void write_active(struct reading *r, uint64_t which)
{
	const struct state *state = r->d->state;
	const struct job *job;

	switch (r->listing.kind) {
	case LIST_JOBS:
		job = state_job(state, which);
		if (job)
			write_job(r, job, now_s());
		return;
	case LIST_NODES:
		listing_node(&r->listing, state, (uint32_t)which, now_s(),
		             &r->out);
		break;
	case LIST_QUEUES:
		listing_queue(&r->listing, state, (uint32_t)which, &r->out);
		break;
	case LIST_SHARES:
		break;
	}
	r->rows++;
}

/* Where the last piece ended; that job, and the one before it, may be gone. */
static const struct job *resume(const struct reading *r)
{
	const struct state *state = r->d->state;
	const struct job *job = state_job(state, r->next_job);

	if (job)
		return job;
	job = state_job(state, r->last_job);
	if (!job)
		job = state_first_job(state);
	while (job && job->id < r->next_job)
		job = job->all_next;
	return job;
}

static void write_jobs(struct reading *r)
{
	const struct job *job = resume(r);
	int64_t now = now_s();

	for (; job && job->id < r->end_job && r->out.len < PIECE;
	     job = job->all_next) {
		write_job(r, job, now);
		r->last_job = job->id;
	}
	r->next_job = job && job->id < r->end_job ? job->id : 0;
}

/* A piece of what is in the state; whether there is more. */
static bool write_piece(struct reading *r)
{
	if (r->next_job)
		write_jobs(r);
	while (r->active_at < r->nactive && r->out.len < PIECE)
		write_active(r, r->active[r->active_at++]);
	return r->next_job || r->active_at < r->nactive;
}

static void step(struct ask *ask, void *arg)
{
	struct reading *r = arg;
	size_t npast = r->wanted ? r->nwanted : 1;

	(void)ask;
	if (write_piece(r) || r->out.len) {
		flush(r);
		return;
	}
	if (r->past && r->wanted_at < npast)
		ask_past(r);
	else
		finish(r);
}

static void take_active(struct reading *r, uint64_t which, size_t *cap)
{
	r->active = GROW(r->active, r->nactive, cap);
	r->active[r->nactive++] = which;
}

static void take_wanted(struct reading *r, struct wanted *w, size_t *cap)
{
	const struct array *array = state_array(r->d->state, w->id.job);
	const struct job *job = state_job(r->d->state, w->id.job);
	const struct idset *tasks = &w->id.tasks;

	if (!array) {
		if (job && !tasks->n) {
			take_active(r, job->id, cap);
			w->found = true;
		}
		return;
	}
	for (job = array->first; job; job = job->array_next) {
		if (!is_meant(tasks, job))
			continue;
		take_active(r, job->id, cap);
		w->found = true;
	}
}

static void take_jobs(struct reading *r)
{
	const struct job *first = state_first_job(r->d->state);
	size_t cap = 0;

	for (size_t i = 0; i < r->nwanted; i++)
		take_wanted(r, &r->wanted[i], &cap);
	if (r->wanted || !first)
		return;
	r->next_job = first->id;
	r->end_job = state_next_id(r->d->state);
}

static void write_share(struct reading *r, const struct share_row *row)
{
	listing_share(&r->listing, r->d->state, row, &r->out);
	r->rows++;
}

/* All at once: users come and go between turns. */
static int write_shares(struct reading *r, struct err *err)
{
	const struct conf *conf = r->d->conf;
	struct shares s;
	size_t at = 0;

	if (shares_init(&s, r->d->state, r->d->store, now_s(), err) < 0)
		return -1;
	for (uint32_t q = 0; q < conf->nqueues; q++) {
		bool wanted =
		    filter_has_text(r->by.queues, conf->queues[q].name);

		if (wanted && !r->by.users)
			write_share(r, &s.queue[q]);
		for (; at < s.nusers && s.user[at].queue == q; at++)
			if (wanted &&
			    filter_has_text(r->by.users, s.user[at].user))
				write_share(r, &s.user[at]);
	}
	shares_fini(&s);
	return 0;
}

static void begin(struct daemon *d, void *arg)
{
	struct reading *r = arg;
	size_t cap = 0;
	struct err err;

	switch (r->listing.kind) {
	case LIST_JOBS:
		take_jobs(r);
		break;
	case LIST_NODES:
		for (size_t i = 0; i < state_nnodes(d->state); i++)
			if (filter_has_text(
				r->by.names,
				state_node(d->state, (uint32_t)i)->name))
				take_active(r, i, &cap);
		break;
	case LIST_QUEUES:
		for (size_t i = 0; i < d->conf->nqueues; i++)
			if (filter_has_text(r->by.names,
			                    d->conf->queues[i].name))
				take_active(r, i, &cap);
		break;
	case LIST_SHARES:
		if (write_shares(r, &err) < 0) {
			daemon_refuse(d, r->ask, &err);
			reading_free(r);
			return;
		}
		break;
	}
	step(r->ask, r);
}

/* --- requests ---------------------------------------------------------- */

static int wanted_parse(struct reading *r, json_t *ids, struct err *err)
{
	size_t n = json_array_size(ids);

	if (!json_is_array(ids) || n > LIMIT_IDS)
		return err_set(err, EPROTO, "ids: at most %d texts", LIMIT_IDS);
	r->wanted = xcalloc(n + 1, sizeof(*r->wanted));
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(ids, i));

		if (!text)
			return err_set(err, EPROTO, "ids: texts are expected");
		if (jobid_parse(&r->wanted[i].id, text, err) < 0)
			return -1;
		r->wanted[i].text = xstrdup(text);
		r->nwanted++;
	}
	return 0;
}

static bool wants_final(const json_t *states)
{
	for (int s = 0; states && s < JOB_NSTATES; s++)
		if (job_state_is_final((enum job_state)s) &&
		    filter_has_state(states, (enum job_state)s))
			return true;
	return false;
}

static int64_t time_of(json_t *body, const char *key)
{
	json_t *value = json_object_get(body, key);

	return json_is_integer(value) ? json_integer_value(value) : NO_TIME;
}

static int read_filters(struct reading *r, const struct request_in *in,
                        struct err *err)
{
	json_t *ids = json_object_get(in->body, "ids");

	r->query.since = time_of(in->body, "since");
	r->query.until = time_of(in->body, "until");
	r->query.after = NO_TIME;
	r->past = json_is_true(json_object_get(in->body, "history")) ||
	          wants_final(r->by.states);
	if (ids) {
		r->past = true;
		return wanted_parse(r, ids, err);
	}
	if (!r->by.users && !json_is_true(json_object_get(in->body, "all")))
		r->only_user = xstrdup(in->peer->user);
	return 0;
}

int op_list(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	static const enum listing_kind kinds[OP_N] = {
		[OP_jobs] = LIST_JOBS,
		[OP_nodes] = LIST_NODES,
		[OP_queues] = LIST_QUEUES,
		[OP_shares] = LIST_SHARES,
	};
	struct reading *r = xcalloc(1, sizeof(*r));

	r->d = d;
	r->ask = ask;
	r->body = json_incref(in->body);
	r->by = (struct filters){
		.users = json_object_get(r->body, "users"),
		.queues = json_object_get(r->body, "queues"),
		.states = json_object_get(r->body, "states"),
		.names = json_object_get(r->body, "names"),
		.nodes = json_object_get(r->body, "nodes"),
	};
	r->next = d->readings;
	d->readings = r;
	if (listing_new(&r->listing, kinds[in->op],
	                json_object_get(in->body, "fields"),
	                json_string_value(json_object_get(in->body, "format")),
	                err) < 0 ||
	    (in->op == OP_jobs && read_filters(r, in, err) < 0)) {
		reading_free(r);
		return -1;
	}
	daemon_later(d, begin, ask, r);
	return 0;
}

/* --- what the scheduler sees ------------------------------------------- */

static void dump(struct daemon *d, void *arg)
{
	struct ask *ask = arg;
	struct arena *arena = arena_new();
	struct buf out = { 0 };

	snap_write(state_peek(d->state, now_s(), arena), &out);
	for (size_t at = 0; at < out.len; at += PIECE)
		rpc_part(ask, out.data + at,
		         out.len - at < PIECE ? out.len - at : PIECE);
	daemon_end_ask(d, ask);
	rpc_reply(ask, json_object());
	buf_free(&out);
	arena_free(arena);
}

int op_dump(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	(void)in;
	(void)err;
	daemon_later(d, dump, ask, ask);
	return 0;
}
