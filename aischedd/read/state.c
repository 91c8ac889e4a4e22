/* state.c - rows of a listing from the state */
#include <string.h>

#include "aischedd/op/cron.h"
#include "aischedd/read/read.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/used.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

/* STEPS_ROW: steps charged for writing a row; STEPS_KEY: for the key by which a
 * row is sorted; STEPS_SHARE: for a row of shares. READ_STEPS: most steps for
 * one piece of rows. */
enum {
	STEPS_ROW = 50,
	STEPS_KEY = 20,
	STEPS_SHARE = 10,
	READ_STEPS = STEPS_SLICE / 4
};

bool reading_fits(const struct reading *r, const struct job *job,
                  const char *user, const char *queue)
{
	struct spec spec;

	if ((r->only_user && strcmp(r->only_user, user)) ||
	    !filter_has(&r->by.users, user) ||
	    !filter_has(&r->by.queues, queue) ||
	    !veil_shows(&r->veil, user, queue) ||
	    !filter_has_state(&r->by, (enum job_state)job->state) ||
	    (r->query.cron && job->cron != r->query.cron))
		return false;
	if (r->by.names.all && r->by.accounts.all && r->by.labels.all)
		return true;
	spec_unpack(&spec, job->packed);
	return filter_has(&r->by.names, spec.name) &&
	       filter_has(&r->by.accounts, spec.account ? spec.account : "") &&
	       filter_labels(&r->by, spec.labels);
}

bool reading_means(const struct idset *tasks, const struct job *job)
{
	if (!tasks->n)
		return true;
	if (job->task != NO_TASK)
		return idset_has(tasks, job->task);
	return idset_meets(&job->tasks, tasks);
}

static bool fits_active(const struct reading *r, const struct job *job)
{
	const struct state *state = r->d->state;
	bool there = r->by.nodes.all;

	if (!reading_fits(r, job, state_user(state, job->user)->name,
	                  r->d->conf->queues[job->queue].name))
		return false;
	for (uint32_t i = 0; !there && job->place && i < job->place->ntasks;
	     i++) {
		const struct node *node =
		    state_node(state, job->place->task[i].node);

		there = filter_has(&r->by.nodes, node->name) ||
		        filter_has(&r->by.nodes, node->full);
	}
	return there;
}

/* --- collecting what is to be listed ----------------------------------- */

static void take_active(struct reading *r, uint64_t which)
{
	r->active = GROW(r->active, r->nactive, &r->active_cap);
	r->active[r->nactive++] = which;
}

/* Add a job to those listed, unless it was added for an earlier id of the
 * request or the peer may not see it. */
static void take_job(struct reading *r, struct wanted *w, const struct job *job)
{
	const struct conf *conf = r->d->conf;

	if (!veil_shows(&r->veil, state_user(r->d->state, job->user)->name,
	                conf->queues[job->queue].name))
		return;
	w->found = true;
	if (r->past_only || map_find(&r->taken, job->id))
		return;
	map_set(&r->taken, job->id, r);
	take_active(r, job->id);
}

static void take_wanted(struct reading *r, struct wanted *w)
{
	const struct array *array = state_array(r->d->state, w->id.job);
	const struct job *job = state_job(r->d->state, w->id.job);
	const struct idset *tasks = &w->id.tasks;

	steps_add(1);
	if (!array) {
		if (job && !tasks->n)
			take_job(r, w, job);
		return;
	}
	if (idset_count(tasks) == 1) {
		job = state_task(r->d->state, array->id, idset_min(tasks));
		if (job)
			take_job(r, w, job);
		return;
	}
	for (job = array->first; job; job = job->array_next) {
		steps_add(1);
		if (reading_means(tasks, job))
			take_job(r, w, job);
	}
}

/* Let an unsorted page begin behind its cursor. Active jobs come before ended
 * ones: if the cursor is an ended job, no active job follows. */
static void skip_to_cursor(struct reading *r)
{
	r->next_job = r->page.after.number < 0 ? r->page.after.id + 1 : 0;
}

static void take_jobs(struct reading *r)
{
	const struct job *first = state_first_job(r->d->state);

	if (r->wanted || r->past_only || !first)
		return;
	r->next_job = first->id;
	if (r->page.begins && !r->page.sort && !r->page.counts)
		skip_to_cursor(r);
	r->end_job = state_next_id(r->d->state);
}

static void take_nodes(struct reading *r)
{
	const struct state *state = r->d->state;
	size_t n = state_nnodes(state);

	r->left = xcalloc(n + 1, sizeof(*r->left));
	r->made = state_nodes_made(state);
	state_nodes_left(state, r->left);
	for (uint32_t i = 0; i < n; i++) {
		const struct node *node = state_node(state, i);

		if (node->removed ||
		    (node->absent && node->gone && !r->left[i].jobs))
			continue;
		if (filter_has(&r->by.names, node->name) ||
		    filter_has(&r->by.names, node->full))
			take_active(r, i);
	}
}

static void take_queues(struct reading *r)
{
	const struct conf *conf = r->d->conf;

	for (size_t i = 0; i < conf->nqueues; i++)
		if (filter_has(&r->by.names, conf->queues[i].name))
			take_active(r, i);
}

static int take_crons(struct reading *r, struct err *err)
{
	const struct cron_entry *e = state_first_cron(r->d->state);

	if (filter_check(r->d, &r->by, err) < 0)
		return -1;
	for (; e; e = e->next) {
		steps_add(1);
		take_active(r, e->id);
	}
	return 0;
}

/* Before the first row of shares is written, copy all that these rows show, as
 * users may come and go between turns. Returns what shares_step() returns. */
static int prepare_shares(struct reading *r, struct err *err)
{
	uint64_t until = steps_so_far + READ_STEPS;

	if (!r->shares.arena)
		shares_init(&r->shares, r->d->state, clock_wall_s());
	return shares_step(&r->shares, r->d->store, until, err);
}

/* Write a row of shares: of a queue or, if row->user is not NULL, of a user in
 * that queue. */
static void write_share(struct reading *r, const struct share_row *row)
{
	const struct conf *conf = r->d->conf;
	const char *name = r->shares.name[row->queue];
	struct share_row now = *row;

	steps_add(1);
	if (now.queue >= conf->nqueues ||
	    strcmp(conf->queues[now.queue].name, name) != 0) {
		/* the queue's index may differ after a reload */
		int found = conf_queue_find(conf, name);

		if (found < 0)
			return;
		now.queue = (uint32_t)found;
	}
	if (!filter_has(&r->by.queues, name) ||
	    (row->user ? !filter_has(&r->by.users, row->user) ||
	                     !veil_shows(&r->veil, row->user, name)
	               : !r->by.users.all))
		return;
	listing_share(&r->listing, r->d->state, &now, &r->out);
	steps_add(STEPS_SHARE);
	r->rows++;
}

/* Write the shares of queues in the order of the configuration, each followed
 * by those of its users. Returns whether there is more to write. */
static bool write_shares(struct reading *r, uint64_t until)
{
	const struct shares *s = &r->shares;

	while (r->share_queue < s->nqueues && r->out.len < READ_PIECE &&
	       steps_so_far < until) {
		const struct share_row *user =
		    r->share_user < s->nusers
			? &s->user[s->order[r->share_user]]
			: NULL;

		if (!r->queue_told)
			write_share(r, &s->queue[r->share_queue]);
		r->queue_told = user && user->queue == r->share_queue;
		if (r->queue_told) {
			write_share(r, user);
			r->share_user++;
		} else {
			r->share_queue++;
		}
	}
	return r->share_queue < s->nqueues;
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
		return prepare_shares(r, err);
	case LIST_CRONS:
		return take_crons(r, err);
	case LIST_ATTEMPTS:
		break;
	}
	return 0;
}

/* --- writing rows in pieces -------------------------------------------- */

void reading_wrote(struct reading *r)
{
	r->rows += !r->page.sort;
	if (r->page.sort)
		page_keep(&r->page, buf_take(&r->out));
}

/* Returns the key by which the page orders the job. Without a sort it is -1,
 * which puts active jobs before ended ones. */
static const char *key_of(struct reading *r, const struct job *job, int64_t now)
{
	if (!r->page.sort)
		return "-1";
	buf_clear(&r->key_text);
	listing_job(&r->key, r->d->state, job, now, &r->key_text);
	r->key_text.data[--r->key_text.len] = '\0';
	steps_add(STEPS_KEY);
	return r->key_text.data;
}

/* Write the row of a job that has not ended, or offer it to a sorted page. */
static void write_job(struct reading *r, const struct job *job, int64_t now)
{
	steps_add(1);
	if (job_state_is_final((enum job_state)job->state) ||
	    (!job->tasks.n && job->array && job->task == NO_TASK) ||
	    !fits_active(r, job))
		return;
	if (r->past)
		map_set(&r->active_told, job->id, r);
	if (!page_offer(&r->page, key_of(r, job, now), job->id))
		return;
	if (r->page.sort && !r->past) {
		page_keep(&r->page, NULL);
		return;
	}
	listing_job(&r->listing, r->d->state, job, now, &r->out);
	steps_add(STEPS_ROW);
	reading_wrote(r);
}

static bool fits_cron(const struct reading *r, const struct cron_entry *e)
{
	const char *user = state_user(r->d->state, e->user)->name;
	const char *queue;

	if ((r->only_user && e->uid != r->slice.uid) ||
	    !filter_has(&r->by.users, user))
		return false;
	queue = cron_queue(r->d, e);
	return filter_has(&r->by.queues, queue) &&
	       veil_shows(&r->veil, user, queue);
}

static void write_cron(struct reading *r, uint64_t id)
{
	const struct cron_entry *e = state_cron(r->d->state, id);

	steps_add(1);
	if (!e || !fits_cron(r, e))
		return;
	cron_row(r->d, e, false, &r->out);
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
		if (state_node(state, (uint32_t)which)->serial >= r->made)
			return; /* another node has its place by now */
		listing_node(&r->listing, state, (uint32_t)which,
		             &r->left[which], clock_wall_s(), &r->out);
		break;
	case LIST_QUEUES:
		if (which >= r->d->conf->nqueues)
			return; /* a reload has removed the queue */
		listing_queue(&r->listing, state, (uint32_t)which, &r->out);
		break;
	case LIST_CRONS:
		write_cron(r, which);
		return;
	case LIST_SHARES:
	case LIST_ATTEMPTS:
		break;
	}
	steps_add(STEPS_ROW);
	r->rows++;
}

static void write_jobs(struct reading *r, uint64_t until)
{
	const struct job *job =
	    filter_resume(r->d->state, r->next_job, r->last_job);
	int64_t now = clock_wall_s();

	for (; job && job->id < r->end_job && r->out.len < READ_PIECE &&
	       steps_so_far < until && !page_is_full(&r->page);
	     job = job->all_next) {
		write_job(r, job, now);
		r->last_job = job->id;
	}
	r->next_job = job && job->id < r->end_job && !page_is_full(&r->page)
	                  ? job->id
	                  : 0;
}

bool read_sorted(struct reading *r)
{
	uint64_t until = steps_so_far + READ_STEPS;
	const struct page_row *row;
	int64_t now = clock_wall_s();

	if (page_sort(&r->page, until))
		return true;
	while (r->out.len < READ_PIECE && steps_so_far < until) {
		const struct job *job;

		row = page_next(&r->page);
		if (!row)
			return false;
		job = row->text ? NULL : state_job(r->d->state, row->id);
		if (!row->text && !job)
			/* the job has ended since it was put into the page */
			continue;
		if (row->text)
			buf_puts(&r->out, row->text);
		else
			listing_job(&r->listing, r->d->state, job, now,
			            &r->out);
		steps_add(STEPS_ROW);
		r->rows++;
	}
	return true;
}

bool read_piece(struct reading *r)
{
	uint64_t until = steps_so_far + READ_STEPS;

	if (r->listing.kind == LIST_SHARES)
		return write_shares(r, until);
	while (r->taken_at < r->nwanted && steps_so_far < until)
		take_wanted(r, &r->wanted[r->taken_at++]);
	if (r->next_job)
		write_jobs(r, until);
	while (r->active_at < r->nactive && r->out.len < READ_PIECE &&
	       steps_so_far < until)
		write_active(r, r->active[r->active_at++]);
	return r->taken_at < r->nwanted || r->next_job ||
	       r->active_at < r->nactive;
}
