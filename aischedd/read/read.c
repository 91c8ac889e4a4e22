/* read.c - listings, written piece by piece between turns */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/op/op.h"
#include "aischedd/read/read.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

void reading_free(struct reading *r)
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
	free(r->left);
	shares_fini(&r->shares);
	map_free(&r->active_told);
	map_free(&r->taken);
	slices_remove(&r->d->listings, &r->slice);
	filters_fini(&r->by);
	free(r->only_user);
	veil_fini(&r->veil);
	free(r->store_path);
	buf_free(&r->out);
	buf_free(&r->key_text);
	page_fini(&r->page);
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

/* --- continuing a listing ---------------------------------------------- */

static void finish(struct reading *r)
{
	json_t *missing = json_array(), *answer;

	for (size_t i = 0; i < r->nwanted; i++)
		if (!r->wanted[i].found)
			json_array_append_new(missing,
			                      json_string(r->wanted[i].text));
	answer = json_pack("{s:I, s:o}", "rows", (json_int_t)r->rows, "missing",
	                   missing);
	if (r->veil.hides)
		json_object_set_new(answer, "private", json_true());
	if (r->page.asked)
		json_object_set_new(answer, "after", page_cursor(&r->page));
	if (r->page.counts)
		json_object_set_new(answer, "count",
		                    json_integer((json_int_t)r->page.count));
	daemon_end_ask(r->d, r->ask);
	rpc_reply(r->ask, answer);
	reading_free(r);
}

static void on_drained(struct ask *ask, void *arg)
{
	struct reading *r = arg;

	(void)ask;
	slices_add(&r->d->listings, &r->slice);
	daemon_go_on(r->d);
}

void reading_flush(struct reading *r)
{
	if (r->out.len)
		rpc_part(r->ask, r->out.data, r->out.len);
	buf_clear(&r->out);
	rpc_when_drained(r->ask, on_drained, r);
}

static void step(struct reading *r)
{
	size_t npast = r->wanted ? r->nwanted : 1;
	struct err err;
	int result = r->begun ? 0 : read_begin(r, &err);
	bool more;

	if (result < 0) {
		daemon_refuse(r->d, r->ask, &err);
		reading_free(r);
		return;
	}
	if (result) {
		slices_add(&r->d->listings, &r->slice);
		return;
	}
	r->begun = true;
	more = read_piece(r);
	if (more && !r->out.len)
		/* nothing to send yet */
		slices_add(&r->d->listings, &r->slice);
	else if (r->out.len)
		reading_flush(r);
	else if (r->past && r->wanted_at < npast && !page_is_full(&r->page))
		read_past(r);
	else if (read_sorted(r) || r->out.len)
		reading_flush(r);
	else
		finish(r);
}

void daemon_slice_readings(struct daemon *d)
{
	uint64_t until = steps_so_far + steps_slice();
	struct slice *slice;

	while (steps_so_far < until && (slice = slices_take(&d->listings))) {
		struct reading *r =
		    (void *)((char *)slice - offsetof(struct reading, slice));
		uint64_t before = steps_so_far;
		uid_t uid = slice->uid;

		step(r);
		slices_charge(&d->listings, uid, steps_so_far - before);
	}
	if (!TAILQ_EMPTY(&d->listings.queue))
		daemon_go_on(d);
}

/* --- requests ---------------------------------------------------------- */

static int wanted_parse(struct reading *r, json_t *ids, struct err *err)
{
	const char **text = xcalloc(json_array_size(ids) + 1, sizeof(*text));
	size_t n = filter_unique(ids, text);
	int rc = 0;

	r->wanted = xcalloc(n + 1, sizeof(*r->wanted));
	for (; rc == 0 && r->nwanted < n; r->nwanted += rc == 0) {
		struct wanted *w = &r->wanted[r->nwanted];

		rc = jobid_parse(&w->id, text[r->nwanted], err);
		if (rc == 0)
			w->text = xstrdup(text[r->nwanted]);
	}
	free(text);
	return rc;
}

static bool wants_final(const struct filters *by)
{
	for (int s = 0; !by->all_states && s < JOB_NSTATES; s++)
		if (job_state_is_final((enum job_state)s) &&
		    filter_has_state(by, (enum job_state)s))
			return true;
	return false;
}

static int64_t time_of(json_t *body, const char *key)
{
	json_t *value = json_object_get(body, key);

	return json_is_integer(value) ? json_integer_value(value) : NO_TIME;
}

/* Read which page of the listing the request asks for. The history stores jobs
 * in the order of their ends, so that a page of ended jobs in this order need
 * not be sorted. */
static int read_page(struct reading *r, struct err *err)
{
	struct err none;
	json_t *key;
	int rc;

	if (page_init(&r->page, r->body, err) < 0)
		return -1;
	if (r->page.asked && json_object_get(r->body, "ids"))
		return err_set(err, EINVAL,
		               "sort, after, limit and count choose among all "
		               "jobs: leave them out, or the ids");
	if (!r->page.sort)
		return 0;
	key = json_pack("[s]", r->page.sort);
	rc = listing_new(&r->key, LIST_JOBS, key, "tsv", &none);
	json_decref(key);
	if (rc < 0)
		return err_set(err, EINVAL,
		               "there is no field '%.40s' to sort by",
		               r->page.sort);
	if (r->past_only && !strcmp(r->page.sort, "end_time")) {
		r->page.sort = NULL;
		r->query.newest_first = r->page.down != r->page.back;
	}
	return 0;
}

/* Show only the requester's own jobs, unless the request names users or a cron
 * entry, or asks for all. */
static void read_owner(struct reading *r, const struct request_in *in)
{
	if (r->by.users.all && !r->query.cron &&
	    !json_is_true(json_object_get(in->body, "all")))
		r->only_user = xstrdup(in->peer->user);
}

static int read_filters(struct reading *r, const struct request_in *in,
                        struct err *err)
{
	json_t *ids = json_object_get(in->body, "ids");

	r->query.since = time_of(in->body, "since");
	r->query.until = time_of(in->body, "until");
	r->query.after = NO_TIME;
	r->query.cron =
	    (uint64_t)json_integer_value(json_object_get(in->body, "cron"));
	r->past = in->op == OP_attempts ||
	          json_is_true(json_object_get(in->body, "history")) ||
	          wants_final(&r->by);
	r->past_only = in->op == OP_attempts || (r->past && r->by.all_states);
	if (read_page(r, err) < 0 || filter_check_labels(&r->by, err) < 0)
		return -1;
	if (ids) {
		r->past = true;
		return wanted_parse(r, ids, err);
	}
	if (!r->past && filter_check(r->d, &r->by, err) < 0)
		return -1;
	read_owner(r, in);
	return 0;
}

int op_list(struct daemon *d, struct ask *ask, const struct request_in *in,
            struct err *err)
{
	static const enum listing_kind kinds[OP_N] = {
		[OP_jobs] = LIST_JOBS,         [OP_nodes] = LIST_NODES,
		[OP_queues] = LIST_QUEUES,     [OP_shares] = LIST_SHARES,
		[OP_attempts] = LIST_ATTEMPTS, [OP_crons] = LIST_CRONS,
	};
	struct reading *r = xcalloc(1, sizeof(*r));

	r->d = d;
	r->ask = ask;
	r->slice.uid = in->peer->uid;
	r->body = json_incref(in->body);
	filters_init(&r->by, r->body);
	veil_init(&r->veil, d, in->peer,
	          in->op == OP_shares ? "usage" : "jobs");
	r->next = d->readings;
	d->readings = r;
	if (listing_new(&r->listing, kinds[in->op],
	                json_object_get(in->body, "fields"),
	                json_string_value(json_object_get(in->body, "format")),
	                err) < 0 ||
	    ((in->op == OP_jobs || in->op == OP_attempts) &&
	     read_filters(r, in, err) < 0)) {
		reading_free(r);
		return -1;
	}
	if (in->op == OP_crons)
		read_owner(r, in);
	slices_add(&d->listings, &r->slice);
	return 0;
}
