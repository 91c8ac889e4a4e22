/* reserve.c - make, delete and list reservations */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aictl/aictl.h"
#include "aictl/command.h"
#include "libcommon/buf.h"
#include "libcommon/client/table.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

#define AT(member) .offset = offsetof(struct ctl, resv.member)

/* clang-format off */
const struct opt reserve_opts[] = {
	{ 0, "start", "TIME", "when it begins (now)", opt_set_text, AT(start) },
	{ 0, "end", "TIME", "when it ends", opt_set_text, AT(end) },
	{ 0, "duration", "TIME", "or how long it lasts", opt_set_text,
	  AT(duration) },
	{ 0, "nodes", "LIST", "nodes to reserve", opt_set_text,
	  AT(nodes) },
	{ 0, "count", "N", "or how many nodes of a pool", opt_set_text, AT(count) },
	{ 0, "pool", "POOL", "pool of these nodes", opt_set_text, AT(pool) },
	{ 0, "users", "LIST", "users and @groups that may use it", opt_set_text,
	  AT(users) },
	{ 0, "maintenance", NULL, "nobody may use it", opt_set_true,
	  AT(maintenance) },
	{ 0, "daily", NULL, "repeat it each day", opt_set_true, AT(daily) },
	{ 0, "weekly", NULL, "repeat it each week", opt_set_true, AT(weekly) },
	OPT_END
};
/* clang-format on */

/* --- create ------------------------------------------------------------ */

/* Set start and end in the request, from the options. */
static int take_times(const struct ctl *ctl, json_t *req, struct err *err)
{
	int64_t now = time(NULL), start = now, end;

	if (ctl->resv.start &&
	    parse_time(ctl->resv.start, now, &start, err) < 0)
		return err_wrap(err, "--start");
	if (!ctl->resv.end == !ctl->resv.duration)
		return err_set(err, EINVAL, "give one of --end and --duration");
	if (ctl->resv.end && parse_time(ctl->resv.end, now, &end, err) < 0)
		return err_wrap(err, "--end");
	if (ctl->resv.duration) {
		if (parse_duration(ctl->resv.duration, &end, err) < 0)
			return err_wrap(err, "--duration");
		if (end == TIME_UNLIMITED)
			return err_set(err, EINVAL,
			               "--duration: UNLIMITED is not possible; "
			               "give a time");
		end += start;
	}
	json_object_set_new(req, "start", json_integer(start));
	json_object_set_new(req, "end", json_integer(end));
	return 0;
}

static int take_nodes(const struct ctl *ctl, json_t *req, struct err *err)
{
	int64_t count;

	if (!ctl->resv.nodes == !ctl->resv.count)
		return err_set(err, EINVAL, "give one of --nodes and --count");
	if (ctl->resv.pool && !ctl->resv.count)
		return err_set(err, EINVAL, "--pool goes with --count");
	if (ctl->resv.nodes) {
		json_object_set_new(req, "nodes", json_string(ctl->resv.nodes));
		return 0;
	}
	if (parse_int(ctl->resv.count, 1, LIMIT_NODES, &count, err) < 0)
		return err_wrap(err, "--count");
	json_object_set_new(req, "count", json_integer(count));
	if (ctl->resv.pool)
		json_object_set_new(req, "pool", json_string(ctl->resv.pool));
	return 0;
}

static int take_users(const struct ctl *ctl, json_t *req, struct err *err)
{
	json_t *users = json_array();

	json_object_set_new(req, "users", users);
	if (!ctl->resv.users == !ctl->resv.maintenance)
		return err_set(err, EINVAL,
		               "give one of --users and --maintenance");
	for (const char *s = ctl->resv.users; s && *s;) {
		size_t len = strcspn(s, ",");

		json_array_append_new(users, json_stringn(s, len));
		s += len + (s[len] == ',');
	}
	if (ctl->resv.users && !json_array_size(users))
		return err_set(err, EINVAL, "--users: no user is named");
	return 0;
}

static int take_repeat(const struct ctl *ctl, json_t *req, struct err *err)
{
	if (ctl->resv.daily && ctl->resv.weekly)
		return err_set(err, EINVAL, "give one of --daily and --weekly");
	json_object_set_new(req, "repeat",
	                    json_string(ctl->resv.daily    ? "daily"
	                                : ctl->resv.weekly ? "weekly"
	                                                   : "never"));
	return 0;
}

static int create(struct ctl *ctl, const char *name)
{
	json_t *req = json_pack("{s:s, s:s}", "op", "reserve", "name", name);
	json_t *answer;
	struct err why;

	if (!req)
		err_set(&why, EINVAL, "'%s' is not UTF-8", name);
	if (!req || take_times(ctl, req, &why) < 0 ||
	    take_nodes(ctl, req, &why) < 0 || take_users(ctl, req, &why) < 0 ||
	    take_repeat(ctl, req, &why) < 0) {
		json_decref(req);
		ctl_warn(ctl, "reserve: %s", why.text);
		return EXIT_USAGE;
	}
	answer = ctl_ask(ctl, req);
	if (answer && !ctl->json)
		printf("Reservation %s keeps %s\n", name,
		       json_string_value(json_object_get(answer, "nodes")));
	return ctl_finish(ctl, answer);
}

/* --- list -------------------------------------------------------------- */

static void put_users(struct buf *out, const json_t *users)
{
	const json_t *user;
	size_t i;

	if (!json_array_size(users))
		buf_puts(out, "nobody");
	json_array_foreach(users, i, user)
		buf_printf(out, "%s%s", i ? "," : "", json_string_value(user));
}

static void put_row(struct buf *out, const json_t *row)
{
	const char *name, *repeat, *nodes;
	json_int_t start, end;
	json_t *users;
	int active;

	if (json_unpack((json_t *)row, "{s:s, s:I, s:I, s:b, s:s, s:o, s:s}",
	                "name", &name, "start_time", &start, "end_time", &end,
	                "active", &active, "repeat", &repeat, "users", &users,
	                "nodes", &nodes) < 0)
		return;
	buf_printf(out, "%s\t%s\t", name, active ? "ACTIVE" : "WAITING");
	format_time(out, start);
	buf_addc(out, '\t');
	format_time(out, end);
	buf_printf(out, "\t%s\t", strcmp(repeat, "never") ? repeat : "");
	put_users(out, users);
	buf_printf(out, "\t%s\n", nodes);
}

static void print_rows(const json_t *rows)
{
	static const char *const header[] = { "NAME",   "STATE", "START", "END",
		                              "REPEAT", "USERS", "NODES" };
	static const bool right[ARRAY_SIZE(header)];
	struct buf text = { 0 };
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		put_row(&text, row);
	table_show(ARRAY_SIZE(header), header, right, &text);
}

static int list(struct ctl *ctl)
{
	json_t *answer = ctl_ask(ctl, json_pack("{s:s}", "op", "reservations"));

	if (answer && !ctl->json)
		print_rows(json_object_get(answer, "reservations"));
	return ctl_finish(ctl, answer);
}

/* --- the command ------------------------------------------------------- */

static bool has_options(const struct ctl *ctl)
{
	return ctl->resv.start || ctl->resv.end || ctl->resv.duration ||
	       ctl->resv.nodes || ctl->resv.count || ctl->resv.pool ||
	       ctl->resv.users || ctl->resv.maintenance || ctl->resv.daily ||
	       ctl->resv.weekly;
}

int run_reserve(struct ctl *ctl, int argc, char **argv)
{
	const char *verb = argv[1];

	if (argc == 3 && !strcmp(verb, "create"))
		return create(ctl, argv[2]);
	if (argc == 2 && !strcmp(verb, "list") && !has_options(ctl))
		return list(ctl);
	if (argc == 3 && !strcmp(verb, "delete") && !has_options(ctl))
		return ctl_finish(
		    ctl, ctl_ask(ctl, json_pack("{s:s, s:s}", "op", "unreserve",
		                                "name", argv[2])));
	ctl_warn(ctl, "reserve takes 'create NAME' with options, 'list' or "
	              "'delete NAME'");
	return EXIT_USAGE;
}
