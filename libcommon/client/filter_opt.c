/* filter_opt.c - options of aiq and aicancel that select jobs */
#include "libcommon/client/filter_opt.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "libcommon/names.h"

static json_t *list_of(void *ctx, const struct opt *opt)
{
	json_t **list = (json_t **)((char *)ctx + opt->offset);

	if (!*list)
		*list = json_array();
	return *list;
}

int opt_add_items(void *ctx, const struct opt *opt, const char *value,
                  struct err *err)
{
	json_t *list = list_of(ctx, opt);

	for (const char *s = value;; s++) {
		size_t len = strcspn(s, ",");

		if (!len)
			return err_set(err, EINVAL, "'%s' has an empty name",
			               value);
		if (json_array_append_new(list, json_stringn(s, len)) < 0)
			return err_set(err, EINVAL, "'%s' is not UTF-8", value);
		s += len;
		if (!*s)
			return 0;
	}
}

static void add_state(json_t *list, int state)
{
	const char *name = job_state_name((enum job_state)state);

	json_array_append_new(list, json_string(name));
}

int opt_add_states(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	json_t *list = list_of(ctx, opt);
	char name[32]; /* no name is longer */

	for (const char *s = value;; s++) {
		size_t len = strcspn(s, ",");
		int state;

		snprintf(name, sizeof(name), "%.*s", (int)len, s);
		state = job_state_parse(name);
		if (state < 0 && strcasecmp(name, "all") != 0)
			return err_set(err, EINVAL,
			               "'%.*s' is not a job state; aisched(7) "
			               "lists them",
			               (int)len, s);
		if (state >= 0)
			add_state(list, state);
		for (int i = 0; state < 0 && i < JOB_NSTATES; i++)
			add_state(list, i);
		s += len;
		if (!*s)
			return 0;
	}
}

static int has_jobs(struct client *client, const char *user, bool history,
                    struct err *err)
{
	json_t *req =
	    json_pack("{s:s, s:[s], s:[s], s:s, s:i}", "op", "jobs", "users",
	              user, "fields", "job_id", "format", "tsv", "limit", 1);
	json_t *answer;
	int rows = -1;

	if (history)
		json_object_set_new(req, "history", json_true());
	answer = client_call(client, req, NULL, 0, NULL, NULL, err);
	if (answer)
		rows = json_integer_value(json_object_get(answer, "rows")) > 0;
	json_decref(answer);
	json_decref(req);
	return rows;
}

int filter_check_users(struct client *client, const json_t *users, bool history,
                       struct err *err)
{
	const json_t *user;
	size_t i;

	json_array_foreach(users, i, user) {
		const char *name = json_string_value(user);
		int jobs;

		if (getpwnam(name))
			continue;
		jobs = has_jobs(client, name, history, err);
		if (jobs < 0)
			return -1;
		if (!jobs)
			return err_set(err, ENOENT, "there is no user '%s'",
			               name);
	}
	return 0;
}
