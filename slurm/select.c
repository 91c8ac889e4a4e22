/* select.c - options of squeue and scancel that select jobs */
#include "slurm/select.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/hostlist.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"
#include "libcommon/parse.h"
#include "slurm/command.h"
#include "slurm/job.h"
#include "slurm/rows.h"

/* as Slurm's MinJobAge: list ended jobs for this long */
enum { MIN_JOB_AGE_S = 300 };

void select_free(struct select *by)
{
	json_decref(by->ids);
	json_decref(by->users);
	json_decref(by->queues);
	json_decref(by->states);
	json_decref(by->names);
	json_decref(by->nodes);
	json_decref(by->accounts);
	json_decref(by->classes);
	json_decref(by->reservations);
}

bool select_has_filter(const struct select *by)
{
	return by->users || by->queues || by->states || by->names ||
	       by->nodes || by->accounts || by->classes || by->reservations ||
	       by->me;
}

static int bad_state(const struct select *by, const char *name, struct err *err)
{
	if (by->bad_state)
		by->bad_state(name);
	command_error("Invalid job state specified: %s", name);
	return err_set(err, EINVAL,
	               "Valid job states include: PENDING,RUNNING,SUSPENDED,"
	               "COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,"
	               "PREEMPTED,BOOT_FAIL,DEADLINE,OUT_OF_MEMORY,"
	               "COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,"
	               "REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,SIGNALING,"
	               "SPECIAL_EXIT,STAGE_OUT,STOPPED");
}

/* Whether this is a state of Slurm that jobs of aisched never have. */
static bool is_foreign_state(const char *name)
{
	static const char *const names[] = {
		"RESIZING",    "RS", "RESV_DEL_HOLD", "RD", "REQUEUED",  "RQ",
		"REQUEUE_FED", "RF", "REQUEUE_HOLD",  "RH", "REVOKED",   "RV",
		"SIGNALING",   "SI", "SPECIAL_EXIT",  "SE", "STAGE_OUT", "SO",
		"STOPPED",     "ST",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcasecmp(names[i], name))
			return true;
	return false;
}

/* Add states given as "PD,running,all". */
int select_add_states(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	struct select *by = ctx;
	json_t *names = NULL, *item;
	struct opt at = { .offset = 0 };
	size_t i;
	int rc = command_add_items(&names, &at, value, err);

	(void)opt;
	json_decref(by->states);
	by->states = json_array();
	by->all_states = false;
	json_array_foreach(names, i, item) {
		const char *name = json_string_value(item);
		int state = job_state_parse(name);

		if (!strcasecmp(name, "all"))
			by->all_states = true;
		else if (state >= 0)
			json_array_append_new(
			    by->states,
			    json_string(job_state_name((enum job_state)state)));
		else if (rc == 0 && !is_foreign_state(name))
			rc = bad_state(by, name, err);
	}
	for (int s = 0; by->all_states && s < JOB_NSTATES; s++)
		json_array_append_new(
		    by->states, json_string(job_state_name((enum job_state)s)));
	json_decref(names);
	return rc;
}

int select_add_nodes(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct select *by = ctx;
	struct hostlist names;

	(void)opt;
	if (!by->nodes)
		by->nodes = json_array();
	if (hostlist_parse(&names, value, err) < 0)
		return err_set(err, EINVAL, "Invalid node name %s", value);
	for (size_t i = 0; i < names.n; i++)
		json_array_append_new(by->nodes, json_string(names.name[i]));
	hostlist_free(&names);
	return 0;
}

/* Add users given by name or uid. A name that is unknown on this machine is
 * reported and selects no jobs. */
int select_add_users(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct select *by = ctx;
	json_t *names = NULL, *item;
	struct opt at = { .offset = 0 };
	size_t i;

	(void)opt;
	if (command_add_items(&names, &at, value, err) < 0)
		return -1;
	if (!by->users)
		by->users = json_array();
	json_array_foreach(names, i, item) {
		const char *name = json_string_value(item);
		int64_t uid;
		bool is_uid = parse_int(name, 0, UINT32_MAX, &uid, NULL) == 0;
		const struct passwd *pw =
		    is_uid ? getpwuid((uid_t)uid) : getpwnam(name);

		if (!pw && !is_uid)
			command_error("Invalid user: %s", name);
		json_array_append_new(by->users,
		                      json_string(pw ? pw->pw_name : name));
	}
	json_decref(names);
	return 0;
}

static bool has(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (!strcasecmp(json_string_value(item), text))
			return true;
	return !list;
}

/* Whether the row passes the filters that the daemon's request lacks or that
 * Slurm defines differently. */
static bool fits(const struct select *by, const json_t *row)
{
	int64_t end = row_int(row, "end_time");

	if (!by->states && job_is_over(row))
		return false;
	if (job_is_over(row) && end != ROW_NONE &&
	    end < time(NULL) - MIN_JOB_AGE_S)
		return false;
	return has(by->states, row_text(row, "state")) &&
	       has(by->users, row_text(row, "user")) &&
	       has(by->queues, row_text(row, "queue")) &&
	       has(by->names, row_text(row, "name")) &&
	       has(by->accounts, row_text(row, "account")) &&
	       has(by->classes, row_text(row, "class")) &&
	       has(by->reservations, row_text(row, "reservation"));
}

static json_t *make_request(const struct select *by, size_t first)
{
	json_t *req = json_pack("{s:s, s:b}", "op", "jobs", "all", 1);

	if (by->nodes)
		json_object_set(req, "nodes", by->nodes);
	if (by->ids) {
		json_t *ids = json_array();

		for (size_t i = first;
		     i < first + LIMIT_IDS && i < json_array_size(by->ids); i++)
			json_array_append(ids, json_array_get(by->ids, i));
		json_object_set_new(req, "ids", ids);
		return req;
	}
	if (by->users)
		json_object_set(req, "users", by->users);
	if (by->queues)
		json_object_set(req, "queues", by->queues);
	if (by->names)
		json_object_set(req, "names", by->names);
	if (by->states) {
		json_object_set(req, "states", by->states);
		json_object_set_new(req, "since",
		                    json_integer(time(NULL) - MIN_JOB_AGE_S));
	}
	return req;
}

static void add_me(struct select *by)
{
	const struct passwd *pw = getpwuid(geteuid());

	if (!by->me)
		return;
	json_decref(by->users);
	by->users = json_pack("[s]", pw ? pw->pw_name : "");
}

int select_read(const struct select *given, struct client *client,
                json_t *fields, json_t **ret_rows, size_t *ret_missing,
                struct err *err)
{
	struct select by = *given;
	size_t first = 0;

	json_incref(by.users);
	add_me(&by);
	rows_add_fields(fields, "state end_time user queue name account class "
	                        "reservation");
	*ret_rows = json_array();
	*ret_missing = 0;
	do {
		json_t *rows = NULL, *answer = NULL, *row;
		struct err why;
		size_t i;

		if (rows_read(client, make_request(&by, first), fields, &rows,
		              &answer, &why) < 0) {
			/* No queue or node has this name, so no job matches. */
			if (why.code == ENOENT)
				break;
			json_decref(by.users);
			json_decref(*ret_rows);
			*ret_rows = NULL;
			return err_set(err, why.code, "%s", why.text);
		}
		json_array_foreach(rows, i, row)
			if (fits(&by, row))
				json_array_append(*ret_rows, row);
		*ret_missing +=
		    json_array_size(json_object_get(answer, "missing"));
		json_decref(rows);
		json_decref(answer);
		first += LIMIT_IDS;
	} while (first < json_array_size(by.ids));
	json_decref(by.users);
	return 0;
}
