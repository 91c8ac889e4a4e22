/* read.c - listings, written piece by piece between turns */
#include <stdlib.h>

#include "aischedd/op/filter.h"
#include "aischedd/op/op.h"
#include "aischedd/read/read.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

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

void reading_flush(struct reading *r)
{
	if (r->out.len)
		rpc_part(r->ask, r->out.data, r->out.len);
	buf_clear(&r->out);
	rpc_when_drained(r->ask, step, r);
}

static void step(struct ask *ask, void *arg)
{
	struct reading *r = arg;
	size_t npast = r->wanted ? r->nwanted : 1;

	(void)ask;
	if (read_piece(r) || r->out.len) {
		reading_flush(r);
		return;
	}
	if (r->past && r->wanted_at < npast)
		read_past(r);
	else
		finish(r);
}

static void begin(struct daemon *d, void *arg)
{
	struct reading *r = arg;
	struct err err;

	if (read_begin(r, &err) < 0) {
		daemon_refuse(d, r->ask, &err);
		reading_free(r);
		return;
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
	r->past_only = r->past && !r->by.states;
	if (ids) {
		r->past = true;
		return wanted_parse(r, ids, err);
	}
	if (!r->past && filter_check(r->d, r->by.queues, r->by.nodes, err) < 0)
		return -1;
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
