/* reserve.c - make and delete reservations */
#include "aischedd/op/reserve.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/op/audit.h"
#include "aischedd/op/cron_run.h"
#include "aischedd/op/op.h"
#include "aischedd/rpc/ident.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/thread.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

/* A request for a reservation while a thread looks up the users that
 * it names. */
struct reserving {
	struct thread_task task;
	struct reserving *next;
	struct daemon *d;
	struct kept_ask ask;
	struct peer *peer;
	json_t *body, *names; /* names borrows from body */
	/* "name,..", filled in by the thread */
	struct buf users;
	int result;
	struct err err;
};

static void reserving_free(struct reserving *r)
{
	free(r->peer);
	json_decref(r->body);
	buf_free(&r->users);
	free(r);
}

static int check_names(const json_t *users, struct err *err)
{
	const json_t *item;
	size_t i;

	if (users && !json_is_array(users))
		return err_set(err, EPROTO, "users: texts are expected");
	json_array_foreach(users, i, item) {
		const char *name = json_string_value(item);

		if (!name || !*name || strchr(name, ','))
			return err_set(err, EINVAL,
			               "'%s' is not the name of a user or "
			               "@GROUP",
			               name ? name : "");
	}
	return 0;
}

static int read_reserve(json_t *body, struct reserve_ask *ask, json_t **names,
                        struct err *err)
{
	const char *repeat = "never";
	json_int_t start, end, count = 0;
	json_error_t e;

	if (json_unpack_ex(body, &e, JSON_STRICT,
	                   "{s:s, s:s, s:I, s:I, s?s, s?o, s?s, s?I, s?s}",
	                   "op", &(const char *){ NULL }, "name", &ask->name,
	                   "start", &start, "end", &end, "repeat", &repeat,
	                   "users", names, "nodes", &ask->nodes, "count",
	                   &count, "pool", &ask->pool) < 0)
		return err_set(err, EPROTO, "reserve: %s", e.text);
	if (repeat_parse(repeat) < 0)
		return err_set(err, EINVAL,
		               "'%s' is no repetition: use never, daily or "
		               "weekly",
		               repeat);
	if (!ask->nodes && (count < 1 || count > LIMIT_NODES))
		return err_set(err, EINVAL, "give nodes, or a count of 1 to %d",
		               LIMIT_NODES);
	ask->repeat = (enum repeat)repeat_parse(repeat);
	ask->start = start;
	ask->end = end;
	ask->count = (uint32_t)count;
	return check_names(*names, err);
}

/* Look up the users. This runs on the thread, as the name service may
 * be slow. */
static void look_up(struct thread_task *task)
{
	struct reserving *r = (struct reserving *)(void *)task;
	const json_t *item;
	size_t i;

	json_array_foreach(r->names, i, item) {
		const char *name = json_string_value(item);

		if (ident_check(name, &r->err) < 0) {
			r->result = -1;
			return;
		}
		buf_printf(&r->users, "%s%s", i ? "," : "", name);
	}
}

static int reserve(struct reserving *r, struct buf *nodes, struct err *err)
{
	struct daemon *d = r->d;
	struct reserve_ask ask = { 0 };

	if (r->result < 0) {
		*err = r->err;
		return -1;
	}
	if (read_reserve(r->body, &ask, &r->names, err) < 0)
		return -1;
	ask.users = r->users.data ? r->users.data : "";
	if (state_reserve(d->state, &ask, clock_wall_s(), err) < 0)
		return -1;
	audit_act(d, r->peer, "reserve", "reservation", ask.name, NULL);
	log_notice("reservation create reservation=%s user=%s", ask.name,
	           r->peer->user);
	state_reservation_nodes(
	    d->state,
	    state_reservation(d->state, state_nreservations(d->state) - 1),
	    false, nodes);
	return 0;
}

/* Carry out the request now that its users were looked up, even if its sender
 * has disconnected. */
static void looked_up(struct thread_task *task)
{
	struct reserving *r = (struct reserving *)(void *)task, **at;
	struct daemon *d = r->d;
	struct buf nodes = { 0 };
	struct err err;
	int result = reserve(r, &nodes, &err);

	if (daemon_is_open(d, &r->ask)) {
		if (result < 0)
			daemon_refuse(d, r->ask.ask, &err);
		else
			daemon_answer(d, r->ask.ask,
			              json_pack("{s:s}", "nodes", nodes.data));
	}
	buf_free(&nodes);
	for (at = &d->reserving; *at != r; at = &(*at)->next)
		;
	*at = r->next;
	reserving_free(r);
}

int op_reserve(struct daemon *d, struct ask *ask, const struct request_in *in,
               struct err *err)
{
	struct reserve_ask what = { 0 };
	json_t *names = NULL;
	struct reserving *r;

	if (read_reserve(in->body, &what, &names, err) < 0)
		return -1;
	r = xcalloc(1, sizeof(*r));
	r->task = (struct thread_task){ .work = look_up, .done = looked_up };
	r->d = d;
	r->ask = daemon_keep(d, ask);
	r->peer = ident_copy(in->peer);
	r->body = json_incref(in->body);
	r->names = names;
	r->next = d->reserving;
	d->reserving = r;
	thread_do(cron_names(d), &r->task);
	return 0;
}

void daemon_free_reservings(struct daemon *d)
{
	struct reserving *r;

	while ((r = d->reserving)) {
		d->reserving = r->next;
		reserving_free(r);
	}
}

int op_unreserve(struct daemon *d, struct ask *ask, const struct request_in *in,
                 struct err *err)
{
	const char *name = json_string_value(json_object_get(in->body, "name"));

	if (!name)
		return err_set(err, EPROTO, "unreserve: a name is expected");
	if (state_unreserve(d->state, name, clock_wall_s(), err) < 0)
		return -1;
	audit_act(d, in->peer, "unreserve", "reservation", name, NULL);
	log_notice("reservation delete reservation=%s user=%s", name,
	           in->peer->user);
	daemon_answer(d, ask, json_object());
	return 0;
}

static json_t *show_users(const char *users)
{
	json_t *list = json_array();

	for (const char *s = users; *s;) {
		size_t len = strcspn(s, ",");

		json_array_append_new(list, json_stringn(s, len));
		s += len + (s[len] == ',');
	}
	return list;
}

static json_t *show_reservation(const struct state *state,
                                const struct reservation *r)
{
	struct buf nodes = { 0 };
	int64_t now = clock_wall_s();
	json_t *shown;

	state_reservation_nodes(state, r, false, &nodes);
	shown = json_pack("{s:s, s:I, s:I, s:b, s:s, s:o, s:s}", "name",
	                  r->name, "start_time", (json_int_t)r->start,
	                  "end_time", (json_int_t)r->end, "active",
	                  r->start <= now && now < r->end, "repeat",
	                  repeat_name(r->repeat), "users", show_users(r->users),
	                  "nodes", nodes.data);
	buf_free(&nodes);
	return shown;
}

int op_reservations(struct daemon *d, struct ask *ask,
                    const struct request_in *in, struct err *err)
{
	json_t *list = json_array();

	(void)in;
	(void)err;
	for (size_t i = 0; i < state_nreservations(d->state); i++)
		json_array_append_new(
		    list,
		    show_reservation(d->state, state_reservation(d->state, i)));
	daemon_say(d, ask, json_pack("{s:o}", "reservations", list));
	return 0;
}
