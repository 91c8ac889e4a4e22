/* replay.c - all that a simulation needs to repeat the past, as JSON lines */
#include "aiq/replay.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libcommon/buf.h"
#include "libcommon/client/json_out.h"
#include "libcommon/hostlist.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"

enum { AUDIT_ROWS = 10000 }; /* most rows that the daemon sends */

/* Numbers that replace names, from 1 on; `known` maps the hash of a name to its
 * number. */
struct codes {
	struct map known;
	uintptr_t n;
};

struct replay {
	FILE *out;
	bool anonymous;
	bool failed;      /* a row from the daemon was not JSON */
	const char *kind; /* kind of the rows being received: "job" */
	struct codes users, accounts, names;
	struct buf rest; /* an incomplete line */
	json_int_t njobs, nattempts;
	bool is_private; /* the daemon hides the jobs of other users */
	/* Jobs that were written as not ended. They may end before the
	 * ended jobs are listed, and must not be written twice. */
	struct map unfinished;
	bool ended;
};

/* --- names ------------------------------------------------------------- */

/* Replace a text of an object by its code, like "u3". */
static void encode(json_t *obj, const char *key, struct codes *codes,
                   char letter)
{
	const char *text = json_string_value(json_object_get(obj, key));
	void **place;
	char *code;

	if (!text)
		return;
	place = map_at(&codes->known, hash_bytes(0, text, strlen(text)));
	if (!*place)
		*place = (void *)++codes->n;
	code = xasprintf("%c%ju", letter, (uintmax_t)(uintptr_t)*place);
	json_object_set_new(obj, key, json_string(code));
	free(code);
}

/* Remove from a job's request all that may identify the user. */
static void hide_asked(struct replay *r, json_t *asked)
{
	static const char *const gone[] = {
		"comment",     "output",   "error",     "input",
		"workdir",     "image",    "mount",     "args",
		"submit_host", "kube_uid", "command",   "rlimits",
		"mail_types",  "labels",   "mail_user", "kube_marks",
		"ports"
	};

	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		json_object_del(asked, gone[i]);
	encode(asked, "name", &r->names, 'j');
	encode(asked, "account", &r->accounts, 'a');
}

static void hide_row(struct replay *r, json_t *row)
{
	json_t *item;
	size_t i;

	encode(row, "user", &r->users, 'u');
	encode(row, "account", &r->accounts, 'a');
	json_object_del(row, "uid");
	hide_asked(r, json_object_get(row, "asked"));
	json_array_foreach(json_object_get(row, "acts"), i, item)
		encode(item, "user", &r->users, 'u');
}

/* --- rows of the daemon ------------------------------------------------ */

static void put_object(const struct replay *r, const char *kind,
                       const json_t *obj)
{
	fprintf(r->out, "{\"%s\":", kind);
	json_out(obj, JSON_COMPACT | JSON_REAL_PRECISION(15), r->out);
	fputs("}\n", r->out);
}

/* Whether this job was written already, as one that had not ended. */
static bool is_twice(struct replay *r, const char *line, size_t len)
{
	static const char key[] = "{\"job_id\":";
	uint64_t id = len > sizeof(key) && !strncmp(line, key, sizeof(key) - 1)
	                  ? strtoull(line + sizeof(key) - 1, NULL, 10)
	                  : 0;

	if (r->ended)
		return map_find(&r->unfinished, id) != NULL;
	map_set(&r->unfinished, id, r);
	return false;
}

static void put_row(struct replay *r, const char *line, size_t len)
{
	bool job = !strcmp(r->kind, "job");
	json_t *row;

	if (job && is_twice(r, line, len))
		return;
	r->njobs += job;
	r->nattempts += !strcmp(r->kind, "attempt");
	if (!r->anonymous) {
		fprintf(r->out, "{\"%s\":%.*s}\n", r->kind, (int)len, line);
		return;
	}
	row = json_loadb(line, len, 0, NULL);
	if (!row) {
		r->failed = true;
		return;
	}
	hide_row(r, row);
	put_object(r, r->kind, row);
	json_decref(row);
}

static int take_part(const void *data, size_t len, void *arg)
{
	struct replay *r = arg;
	const char *at, *eol;

	buf_add(&r->rest, data, len);
	at = r->rest.data;
	while ((eol = memchr(at, '\n',
	                     r->rest.len - (size_t)(at - r->rest.data)))) {
		put_row(r, at, (size_t)(eol - at));
		at = eol + 1;
	}
	r->rest.len -= (size_t)(at - r->rest.data);
	memmove(r->rest.data, at, r->rest.len);
	return r->failed || ferror(r->out) ? -1 : 0;
}

static int put_rows(struct replay *r, struct client *client, const char *kind,
                    json_t *req, struct err *err)
{
	json_t *answer;

	r->kind = kind;
	answer = client_call(client, req, NULL, 0, take_part, r, err);
	if (json_is_true(json_object_get(answer, "private")))
		r->is_private = true;
	json_decref(req);
	json_decref(answer);
	return answer ? 0 : -1;
}

/* --- jobs -------------------------------------------------------------- */

static json_t *jobs_request(const struct aiq *aiq, bool ended)
{
	static const char *const fields[] = {
		"job_id",     "array_job_id", "array_task_id", "user",
		"queue",      "class",        "state",         "priority",
		"tasks",      "min_tasks",    "submit_time",   "start_time",
		"end_time",   "time_limit",   "resources",     "hold",
		"acts",       "attempt",      "longest_ms",    "preemptions",
		"elapsed_ms", "asked"
	};
	json_t *names = json_array();
	json_t *req =
	    json_pack("{s:s, s:b, s:b, s:o, s:s}", "op", "jobs", "all", 1,
	              "history", ended, "fields", names, "format", "json");

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		json_array_append_new(names, json_string(fields[i]));
	if (ended && aiq->since)
		json_object_set_new(req, "since", json_integer(aiq->since));
	if (ended && aiq->until)
		json_object_set_new(req, "until", json_integer(aiq->until));
	return req;
}

/* Write the jobs that have not ended, the ended jobs, and the attempts. All
 * attempts are written, because a job that ended in the chosen time may have
 * started long before it. */
static int put_jobs(struct replay *r, const struct aiq *aiq,
                    struct client *client, struct err *err)
{
	json_t *attempts = json_pack("{s:s, s:b, s:s}", "op", "attempts", "all",
	                             1, "format", "json");

	if (!aiq->until &&
	    put_rows(r, client, "job", jobs_request(aiq, false), err) < 0) {
		json_decref(attempts);
		return -1;
	}
	r->ended = true;
	if (put_rows(r, client, "job", jobs_request(aiq, true), err) < 0) {
		json_decref(attempts);
		return -1;
	}
	return put_rows(r, client, "attempt", attempts, err);
}

/* --- nodes ------------------------------------------------------------- */

static int put_nodes(struct replay *r, struct client *client, struct err *err)
{
	return put_rows(
	    r, client, "node",
	    json_pack("{s:s, s:s, s:[s, s, s, s, s, s, s, s, s, s, s, s, s]}",
	              "op", "nodes", "format", "json", "fields", "name", "pool",
	              "state", "cpus", "memory_mib", "tmp_mib", "gpus",
	              "gpu_type", "gpu_memory_mib", "features", "topology",
	              "weight", "devices"),
	    err);
}

/* Write an event for each node to which an admin's command applied; row is the
 * command's entry in the audit log. */
static void put_act(const struct replay *r, const json_t *row)
{
	static const char prefix[] = "node ";
	const char *target = json_string_value(json_object_get(row, "target"));
	const char *act = json_string_value(json_object_get(row, "act"));
	double at = json_number_value(json_object_get(row, "time"));
	struct hostlist list = { 0 };

	if (!act || !target || strncmp(target, prefix, sizeof(prefix) - 1) ||
	    hostlist_parse(&list, target + sizeof(prefix) - 1, NULL) < 0)
		return;
	for (size_t i = 0; i < list.n; i++) {
		json_t *event = json_pack("{s:I, s:s}", "at", (json_int_t)at,
		                          act, list.name[i]);

		put_object(r, "event", event);
		json_decref(event);
	}
	hostlist_free(&list);
}

static int put_acts(const struct replay *r, const struct aiq *aiq,
                    struct client *client, const char *act, struct err *err)
{
	json_t *req = json_pack("{s:s, s:s, s:i}", "op", "audit", "act", act,
	                        "limit", AUDIT_ROWS);
	json_t *answer, *row;
	size_t i;

	if (aiq->since)
		json_object_set_new(req, "since", json_integer(aiq->since));
	if (aiq->until)
		json_object_set_new(req, "until", json_integer(aiq->until));
	answer = client_call(client, req, NULL, 0, NULL, NULL, err);
	json_array_foreach(json_object_get(answer, "audit"), i, row)
		put_act(r, row);
	json_decref(req);
	json_decref(answer);
	return answer ? 0 : -1;
}

static int put_reservations(struct replay *r, struct client *client,
                            struct err *err)
{
	json_t *req = json_pack("{s:s}", "op", "reservations"), *row, *user;
	json_t *answer = client_call(client, req, NULL, 0, NULL, NULL, err);
	size_t i, k;

	json_array_foreach(json_object_get(answer, "reservations"), i, row) {
		json_t *users = json_array();

		json_array_foreach(json_object_get(row, "users"), k, user) {
			json_t *one = json_pack("{s:O}", "user", user);

			if (r->anonymous)
				encode(one, "user", &r->users, 'u');
			json_array_append(users, json_object_get(one, "user"));
			json_decref(one);
		}
		json_object_set_new(row, "users", users);
		put_object(r, "reservation", row);
	}
	json_decref(req);
	json_decref(answer);
	return answer ? 0 : -1;
}

/* --- the file ---------------------------------------------------------- */

static int put_head(const struct replay *r, const struct aiq *aiq,
                    struct client *client, struct err *err)
{
	json_t *req = json_pack("{s:s}", "op", "ping");
	json_t *answer = client_call(client, req, NULL, 0, NULL, NULL, err);
	json_t *head;

	json_decref(req);
	if (!answer)
		return -1;
	head = json_pack("{s:i, s:O, s:I, s:I}", "replay", 1, "cluster",
	                 json_object_get(answer, "cluster"), "from",
	                 (json_int_t)aiq->since, "to",
	                 (json_int_t)(aiq->until ? aiq->until : time(NULL)));
	json_out(head, JSON_COMPACT, r->out);
	fputc('\n', r->out);
	json_decref(head);
	json_decref(answer);
	return 0;
}

int replay_check(const struct aiq *aiq, struct err *err)
{
	if (!aiq->replay)
		return aiq->anonymous ? err_set(err, EINVAL,
		                                "--anonymous goes with "
		                                "--history --replay")
		                      : 0;
	if (aiq->view != &view_history)
		return err_set(err, EINVAL, "--replay goes with --history");
	if (aiq->users || aiq->queues || aiq->states || aiq->names ||
	    aiq->nodes || aiq->accounts || aiq->labels || aiq->cron ||
	    aiq->noperands || aiq->format || aiq->csv || aiq->watch ||
	    aiq->sort || aiq->after || aiq->limit >= 0 || aiq->file)
		return err_set(err, EINVAL,
		               "--replay goes with --since, --until and "
		               "--anonymous only: jobs that are left out would "
		               "leave room that was not there");
	return 0;
}

int replay_print(const struct aiq *aiq, struct client *client, FILE *out,
                 struct err *err)
{
	struct replay r = { .out = out, .anonymous = aiq->anonymous };
	int rc = -1;

	if (put_head(&r, aiq, client, err) == 0 &&
	    put_nodes(&r, client, err) == 0 &&
	    put_acts(&r, aiq, client, "drain", err) == 0 &&
	    put_acts(&r, aiq, client, "undrain", err) == 0 &&
	    put_reservations(&r, client, err) == 0 &&
	    put_jobs(&r, aiq, client, err) == 0)
		rc = 0;
	if (rc == 0) {
		fprintf(out,
		        "{\"end\":{\"jobs\":%lld,\"attempts\":%lld,"
		        "\"private\":%s}}\n",
		        (long long)r.njobs, (long long)r.nattempts,
		        r.is_private ? "true" : "false");
		if (r.is_private)
			warnx("jobs of others are private: only yours are in "
			      "the replay");
	}
	map_free(&r.users.known);
	map_free(&r.accounts.known);
	map_free(&r.names.known);
	map_free(&r.unfinished);
	buf_free(&r.rest);
	return rc;
}
