/* reserve.c - make and delete reservations */
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "aischedd/op/audit.h"
#include "aischedd/op/op.h"
#include "aischedd/state/cluster/reserve.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/log.h"

/* Join [name, ..] to "name,.."; check that each is a user, or "@" and a
 * group. */
static int user_list(const json_t *users, struct buf *ret, struct err *err)
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
		if (*name == '@' ? !getgrnam(name + 1) : !getpwnam(name))
			return err_set(err, ENOENT, "there is no %s '%s'",
			               *name == '@' ? "group" : "user",
			               name + (*name == '@'));
		buf_printf(ret, "%s%s", i ? "," : "", name);
	}
	return 0;
}

static int reserve(struct daemon *d, const struct request_in *in,
                   struct buf *users, struct err *err)
{
	const char *repeat = "never";
	struct reserve_ask ask = { 0 };
	json_int_t start, end, count = 0;
	json_t *names = NULL;
	json_error_t e;

	if (json_unpack_ex(in->body, &e, JSON_STRICT,
	                   "{s:s, s:s, s:I, s:I, s?s, s?o, s?s, s?I, s?s}",
	                   "op", &(const char *){ NULL }, "name", &ask.name,
	                   "start", &start, "end", &end, "repeat", &repeat,
	                   "users", &names, "nodes", &ask.nodes, "count",
	                   &count, "pool", &ask.pool) < 0)
		return err_set(err, EPROTO, "reserve: %s", e.text);
	if (repeat_parse(repeat) < 0)
		return err_set(err, EINVAL,
		               "'%s' is no repetition: use never, daily or "
		               "weekly",
		               repeat);
	if (!ask.nodes && (count < 1 || count > LIMIT_NODES))
		return err_set(err, EINVAL, "give nodes, or a count of 1 to %d",
		               LIMIT_NODES);
	if (user_list(names, users, err) < 0)
		return -1;
	ask.repeat = (enum repeat)repeat_parse(repeat);
	ask.start = start;
	ask.end = end;
	ask.count = (uint32_t)count;
	ask.users = users->data ? users->data : "";
	if (state_reserve(d->state, &ask, clock_wall_s(), err) < 0)
		return -1;
	audit_act(d, in->peer, "reserve", "reservation", ask.name, NULL);
	log_notice("reservation create reservation=%s user=%s", ask.name,
	           in->peer->user);
	return 0;
}

int op_reserve(struct daemon *d, struct ask *ask, const struct request_in *in,
               struct err *err)
{
	struct buf users = { 0 }, nodes = { 0 };
	int result = reserve(d, in, &users, err);

	if (result == 0) {
		size_t last = state_nreservations(d->state) - 1;

		state_reservation_nodes(
		    d->state, state_reservation(d->state, last), false, &nodes);
		daemon_answer(d, ask, json_pack("{s:s}", "nodes", nodes.data));
	}
	buf_free(&users);
	buf_free(&nodes);
	return result;
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
