/* state.c - what is in the state, as rows of a listing */
#include <string.h>

#include "aischedd/op/filter.h"
#include "aischedd/read/read.h"
#include "aischedd/state/node.h"
#include "aischedd/state/used.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

bool names_node(const json_t *list, const char *node, size_t len)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = json_string_value(json_array_get(list, i));

		if (s && strlen(s) == len && !strncmp(s, node, len))
			return true;
	}
	return false;
}

bool reading_fits(const struct reading *r, const struct job *job,
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

bool reading_means(const struct idset *tasks, const struct job *job)
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

	if (!reading_fits(r, job, state_user(state, job->user)->name,
	                  r->d->conf->queues[job->queue].name))
		return false;
	for (uint32_t i = 0; !there && job->place && i < job->place->ntasks;
	     i++) {
		const char *name =
		    state_node(state, job->place->task[i].node)->name;

		there = names_node(r->by.nodes, name, strlen(name));
	}
	return there;
}

/* --- what is asked for -------------------------------------------------- */

static void take_active(struct reading *r, uint64_t which, size_t *cap)
{
	if (r->past_only)
		return;
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
		if (!reading_means(tasks, job))
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
	if (r->wanted || r->past_only || !first)
		return;
	r->next_job = first->id;
	r->end_job = state_next_id(r->d->state);
}

static void take_nodes(struct reading *r)
{
	const struct state *state = r->d->state;
	size_t n = state_nnodes(state), cap = 0;

	r->left = xcalloc(n + 1, sizeof(*r->left));
	state_nodes_left(state, r->left);
	for (uint32_t i = 0; i < n; i++)
		if (filter_has_text(r->by.names, state_node(state, i)->name))
			take_active(r, i, &cap);
}

static void take_queues(struct reading *r)
{
	const struct conf *conf = r->d->conf;
	size_t cap = 0;

	for (size_t i = 0; i < conf->nqueues; i++)
		if (filter_has_text(r->by.names, conf->queues[i].name))
			take_active(r, i, &cap);
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

	if (shares_init(&s, r->d->state, r->d->store, clock_wall_s(), err) < 0)
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

int read_begin(struct reading *r, struct err *err)
{
	switch (r->listing.kind) {
	case LIST_JOBS:
		take_jobs(r);
		break;
	case LIST_NODES:
		take_nodes(r);
		break;
	case LIST_QUEUES:
		take_queues(r);
		break;
	case LIST_SHARES:
		return write_shares(r, err);
	}
	return 0;
}

/* --- piece by piece ---------------------------------------------------- */

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
			write_job(r, job, clock_wall_s());
		return;
	case LIST_NODES:
		listing_node(&r->listing, state, (uint32_t)which,
		             &r->left[which], clock_wall_s(), &r->out);
		break;
	case LIST_QUEUES:
		if (which >= r->d->conf->nqueues)
			return; /* there was a reload */
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
	int64_t now = clock_wall_s();

	for (; job && job->id < r->end_job && r->out.len < READ_PIECE;
	     job = job->all_next) {
		write_job(r, job, now);
		r->last_job = job->id;
	}
	r->next_job = job && job->id < r->end_job ? job->id : 0;
}

bool read_piece(struct reading *r)
{
	if (r->next_job)
		write_jobs(r);
	while (r->active_at < r->nactive && r->out.len < READ_PIECE)
		write_active(r, r->active[r->active_at++]);
	return r->next_job || r->active_at < r->nactive;
}
