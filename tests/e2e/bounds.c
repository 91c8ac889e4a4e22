/*
 * bounds.c - make every request with the most items that it may name, for
 * bounds.t
 *
 *	bounds fill DATABASE	copy an ended task and an ended job many times,
 *				to make a long history
 *	bounds ask LIVE ENDED ENTRY SPLIT
 *				make all requests of the two tables, with the
 *				ids of a pending array, an ended array, a
 *				recurring job and a second pending array, which
 *				is split into many records; print the
 *				requests for which a turn of the daemon's loop
 *				was too long
 *	bounds vain ID		submit many jobs that end when the job ID is
 *				cancelled, and cancel it; print the longest turn
 *				if it was too long
 *	bounds beside		submit many jobs that all differ, then make
 *				requests that the daemon must work on outside of
 *				its event loop; print the longest turn if it was
 *				too long
 *
 * Requests of the daemon that a table lacks are printed, too.
 */
#include <err.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/client/client.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/msg.h"
#include "libcommon/steps.h"

enum { ROWS = 1 << 16, UNLIKE = 25000, VAIN = 20000, PARTS = 2000 };

/* --- a long history ------------------------------------------------------ */

static void sql(sqlite3 *db, const char *text)
{
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		errx(EXIT_FAILURE, "%s: %s", text, sqlite3_errmsg(db));
}

/* Make many copies, with ids from `first` on, of one ended job that meets the
 * SQL condition `which`. */
static void copy_row(sqlite3 *db, const char *which, int first,
                     const char *change)
{
	char *text = xasprintf("CREATE TEMP TABLE t AS SELECT * FROM job"
	                       " WHERE state >= 5 AND %s LIMIT 1",
	                       which);

	sql(db, text);
	free(text);
	for (int n = 1; n < ROWS; n *= 2)
		sql(db, "INSERT INTO t SELECT * FROM t");
	text = xasprintf("UPDATE t SET id = %d + rowid - 1%s", first, change);
	sql(db, text);
	free(text);
	sql(db, "INSERT INTO job SELECT * FROM t");
	sql(db, "DROP TABLE t");
}

/* Copy an entry of recurring work many times, each with a last run in the
 * history. */
static void copy_cron(sqlite3 *db)
{
	sql(db, "CREATE TEMP TABLE t AS SELECT * FROM cron LIMIT 1");
	for (int n = 1; n < ROWS; n *= 2)
		sql(db, "INSERT INTO t SELECT * FROM t");
	sql(db, "UPDATE t SET id = 2999999 + rowid, last_job = 1999999 + rowid,"
	        " imported = 1");
	sql(db, "INSERT INTO cron SELECT * FROM t");
	sql(db, "DROP TABLE t");
}

/* Add ROWS users who have no jobs now. */
static void copy_usage(sqlite3 *db)
{
	char *text = xasprintf(
	    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
	    " WHERE i < %d) INSERT INTO usage (user, queue, cpu_ms, gpu_ms,"
	    " jobs, uid, amount, time) SELECT 'ex' || i, 'default', 1000, 0, 1,"
	    " 1000000 + i, 1000000000000, unixepoch() FROM n",
	    ROWS);

	sql(db, text);
	free(text);
}

static void fill(const char *path)
{
	sqlite3 *db;

	if (sqlite3_open(path, &db) != SQLITE_OK)
		errx(EXIT_FAILURE, "%s: %s", path, sqlite3_errmsg(db));
	sql(db, "BEGIN");
	copy_row(db, "array_task = 0", 1000000,
	         ", array_id = 1000000, array_task = rowid - 1");
	copy_row(db, "array_task IS NULL", 2000000, "");
	copy_cron(db);
	copy_usage(db);
	sql(db, "UPDATE meta SET value = 4000000 WHERE key = 'next_id'");
	sql(db, "COMMIT");
	sqlite3_close(db);
}

/* --- requests ------------------------------------------------------------ */

static const char *live, *past, *entry, *split;
static struct client *client;

/* Defines a function that returns LIMIT_IDS texts, made with printf arguments
 * that depend on i. */
#define TEXTS(name, ...)                                                  \
	static json_t *name(void)                                         \
	{                                                                 \
		json_t *list = json_array();                              \
                                                                          \
		for (int i = 0; i < LIMIT_IDS; i++)                       \
			json_array_append_new(list,                       \
			                      json_sprintf(__VA_ARGS__)); \
		return list;                                              \
	}

TEXTS(live_ids, "%s_[%d-900000:2]", live, i % 100)
TEXTS(past_ids, "%s_[%d-60000:2]", past, i % 10)
TEXTS(no_ids, "%d_[%d-900000:2]", 123456789, i)
TEXTS(past_jobs, "20%05d", i)
TEXTS(names, "n%d", i)
TEXTS(entries, "%s%s", entry, i < 0 ? "0" : "")
TEXTS(same, "%s%s", past, i < 0 ? "_0" : "")

/* Returns single tasks of the second array, from both of its ends in turn. */
static json_t *parts(void)
{
	json_t *list = json_array();

	for (int i = 0; i < PARTS; i++)
		json_array_append_new(
		    list,
		    json_sprintf("%s_%d", split, 2 * (i % 2 ? PARTS - i : i)));
	return list;
}

static json_t *whole(void)
{
	return json_pack("[s]", split);
}

static json_t *with_ids(const char *op, json_t *(*ids)(void))
{
	return json_pack("{s:s, s:o}", "op", op, "ids", ids());
}

static json_t *control(const char *action, json_t *(*ids)(void))
{
	return json_pack("{s:s, s:s, s:o}", "op", "control", "action", action,
	                 "ids", ids());
}

static json_t *specs(int n, const char *key, const char *value)
{
	static unsigned token;
	json_t *list = json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(
		    list, json_pack("{s:s, s:s, s:s, s:i, s:i, s:s*}", "name",
		                    "bounds", "output", "/dev/null", "workdir",
		                    "/", "mem", 1, "hold", 1, key, value));
	return json_pack("{s:s, s:o, s:o, s:i, s:i}", "op", "submit", "token",
	                 json_sprintf("%032x", token++), "specs", list,
	                 "script_len", 1, "env_len", 0);
}

static json_t *test_only(int n)
{
	json_t *req = specs(n, "comment", "never"), *spec;
	size_t i;

	json_object_set_new(req, "test_only", json_true());
	json_array_foreach(json_object_get(req, "specs"), i, spec)
		json_object_set_new(spec, "hold", json_integer(0));
	return req;
}

/* the first job of the last submission */
static json_int_t last_job;

/* Returns a request for n jobs that each depend on `ndeps` other jobs of the
 * last submission. */
static json_t *on_last(int n, int ndeps)
{
	json_t *req = specs(n, "comment", "depends"), *spec;
	json_int_t from = last_job;
	size_t i;

	json_array_foreach(json_object_get(req, "specs"), i, spec) {
		struct buf text = { 0 };

		buf_puts(&text, "afterok");
		for (int at = 0; at < ndeps; at++)
			buf_printf(&text, ":%lld",
			           (long long)from + ((int)i + at) % 5000);
		json_object_set_new(spec, "dependency", json_string(text.data));
		buf_free(&text);
	}
	return req;
}

static json_t *long_texts(int n)
{
	char *text = xasprintf("%0680d", 0);
	json_t *req = specs(n, "comment", text);

	free(text);
	return req;
}

static json_t *plain(const char *op)
{
	return json_pack("{s:s}", "op", op);
}

static json_t *filtered(const char *op)
{
	return json_pack("{s:s, s:o, s:o, s:o}", "op", op, "names", names(),
	                 "users", names(), "states", names());
}

static json_t *page(const char *sort, int limit, const char *after,
                    bool history)
{
	return json_pack("{s:s, s:b, s:b, s:b, s:s, s:i, s:s*}", "op", "jobs",
	                 "all", 1, "count", 1, "history", history, "sort", sort,
	                 "limit", limit, "after", after);
}

/* Returns a crontab whose entries are due once in 28 years. */
static json_t *crontab(void)
{
	json_t *list = json_array();

	for (int i = 0; i < LIMIT_IDS; i++)
		json_array_append_new(
		    list,
		    json_pack("{s:i, s:{s:s}, s:{s:s}, s:i, s:i}", "line", i,
		              "spec", "name", "bounds", "cron", "cron",
		              "0 0 29 2 0", "script_len", 1, "env_len", 0));
	return json_pack("{s:s, s:o, s:i}", "op", "cron_file", "entries", list,
	                 "text_len", 0);
}

/* The requests to make: X(name, expression that returns the request) */
#define CASES(X)                                                               \
	X(ping, plain("ping"))                                                 \
	X(submit, specs(5000, "array", "0-900000:2,0-900000:3%1"))             \
	X(submit, specs(LIMIT_BULK, "comment", "many"))                        \
	X(submit, on_last(5000, 32))                                           \
	X(submit, on_last(LIMIT_BULK, 8))                                      \
	X(submit, long_texts(LIMIT_BULK))                                      \
	X(submit, test_only(LIMIT_BULK))                                       \
	X(submit, specs(2000, "dependency", "afterok:1000000"))                \
	X(submit, specs(2000, "dependency", "singleton"))                      \
	X(jobs, with_ids("jobs", live_ids))                                    \
	X(jobs, with_ids("jobs", same))                                        \
	X(jobs, json_pack("{s:s, s:b, s:o}", "op", "jobs", "all", 1, "names",  \
	                  names()))                                            \
	X(jobs, page("user", 10000, NULL, 0))                                  \
	X(jobs, page("-reason_text", 10000, "1:x", 0))                         \
	X(jobs, page("-name", 10000, NULL, 1))                                 \
	X(jobs, page("-end_time", 10000, "7:9", 1))                            \
	X(jobs, page("nosuch", -1, ":", 1))                                    \
	X(queues, json_pack("{s:s, s:o}", "op", "queues", "names", names()))   \
	X(nodes, json_pack("{s:s, s:o}", "op", "nodes", "names", names()))     \
	X(shares, plain("shares"))                                             \
	X(shares, json_pack("{s:s, s:o, s:o}", "op", "shares", "users",        \
	                    names(), "queues", names()))                       \
	X(log, json_pack("{s:s, s:s}", "op", "log", "id", past))               \
	X(log, json_pack("{s:s, s:o}", "op", "log", "id",                      \
	                 json_sprintf("%s_[0-60000:3]", past)))                \
	X(script, json_pack("{s:s, s:s}", "op", "script", "id", past))         \
	X(steps, with_ids("steps", past_ids))                                  \
	X(step, json_pack("{s:s, s:s}", "op", "step", "id", past))             \
	X(exec, json_pack("{s:s, s:s}", "op", "exec", "id", past))             \
	X(forward, json_pack("{s:s, s:s, s:i}", "op", "forward", "id", past,   \
	                     "port", 80))                                      \
	X(relay,                                                               \
	  json_pack("{s:s, s:s, s:i}", "op", "relay", "id", past, "task", 0))  \
	X(relay_input,                                                         \
	  json_pack("{s:s, s:i}", "op", "relay_input", "relay", 1))            \
	X(alloc, json_pack("{s:s, s:s}", "op", "alloc", "id", past))           \
	X(wait, with_ids("wait", past_ids))                                    \
	X(wait, with_ids("wait", past_jobs))                                   \
	X(wait, with_ids("wait", no_ids))                                      \
	X(wait, with_ids("wait", same))                                        \
	X(control, control("hold", live_ids))                                  \
	X(control, control("hold", past_ids))                                  \
	X(control, control("hold", no_ids))                                    \
	X(control, control("top", live_ids))                                   \
	X(control, control("requeue", past_ids))                               \
	X(control, control("requeue", past_jobs))                              \
	X(update, json_pack("{s:s, s:o, s:{s:s}}", "op", "update", "ids",      \
	                    live_ids(), "set", "nice", "1"))                   \
	X(update, json_pack("{s:s, s:o, s:{s:s}}", "op", "update", "ids",      \
	                    past_ids(), "set", "nice", "1"))                   \
	X(cancel, filtered("cancel"))                                          \
	X(cancel, with_ids("cancel", past_ids))                                \
	X(cancel, with_ids("cancel", past_jobs))                               \
	X(cancel, with_ids("cancel", live_ids))                                \
	X(cancel, json_pack("{s:s, s:b}", "op", "cancel", "all", 1))           \
	X(drain, json_pack("{s:s, s:s, s:s}", "op", "drain", "nodes",          \
	                   "n[0-65535]", "reason", "none"))                    \
	X(undrain,                                                             \
	  json_pack("{s:s, s:s}", "op", "undrain", "nodes", "n[0-65535]"))     \
	X(queue, json_pack("{s:s, s:s, s:s}", "op", "queue", "name",           \
	                   "default", "state", "open"))                        \
	X(reserve,                                                             \
	  json_pack("{s:s, s:s, s:i, s:i, s:s, s:o}", "op", "reserve", "name", \
	            "r", "start", 2000000000, "end", 2000000060, "nodes",      \
	            "n[0-65535]", "users", names()))                           \
	X(unreserve, json_pack("{s:s, s:s}", "op", "unreserve", "name", "r"))  \
	X(reservations, plain("reservations"))                                 \
	X(reload, plain("reload"))                                             \
	X(status, plain("status"))                                             \
	X(dump, plain("dump"))                                                 \
	X(audit, json_pack("{s:s, s:i}", "op", "audit", "limit", 1000000))     \
	X(attempts, with_ids("attempts", past_ids))                            \
	X(attempts, json_pack("{s:s, s:b, s:o}", "op", "attempts", "all", 1,   \
	                      "users", names()))                               \
	X(history,                                                             \
	  json_pack("{s:s, s:i}", "op", "history", "before", 2000000000))      \
	X(accounting, plain("accounting"))                                     \
	X(report, json_pack("{s:s, s:[s, s], s:o}", "op", "report", "by",      \
	                    "user", "hour", "users", names()))                 \
	X(metrics, plain("metrics"))                                           \
	X(config, plain("config"))                                             \
	X(web, json_pack("{s:s, s:s}", "op", "web", "action", "link"))         \
	X(session, json_pack("{s:s, s:s, s:s}", "op", "session", "action",     \
	                     "login", "k", "x"))                               \
	X(excerpt, json_pack("{s:s, s:s, s:i}", "op", "excerpt", "id", past,   \
	                     "len", 65536))                                    \
	X(crons, json_pack("{s:s, s:b}", "op", "crons", "all", 1))             \
	X(crons, json_pack("{s:s, s:o, s:b}", "op", "crons", "users", names(), \
	                   "all", 1))                                          \
	X(crons, json_pack("{s:s, s:o, s:o, s:b}", "op", "crons", "users",     \
	                   names(), "queues", names(), "all", 1))              \
	X(crons, with_ids("crons", past_jobs))                                 \
	X(crons, with_ids("crons", entries))                                   \
	X(cron, json_pack("{s:s, s:s, s:o}", "op", "cron", "action", "delete", \
	                  "ids", past_jobs()))                                 \
	X(cron, json_pack("{s:s, s:s, s:o}", "op", "cron", "action", "resume", \
	                  "ids", entries()))                                   \
	X(cron_file, plain("cron_file"))                                       \
	X(cron_file, crontab())                                                \
	X(shutdown, NULL)

static json_t *set(json_t *(*ids)(void), const char *field, const char *value)
{
	return json_pack("{s:s, s:o, s:{s:s}}", "op", "update", "ids", ids(),
	                 "set", field, value);
}

static json_t *of_split(const char *op)
{
	return json_pack("{s:s, s:s}", "op", op, "id", split);
}

/* Returns a request for n jobs that depend on the second array. */
static json_t *dependents(int n, const char *how, const char *array)
{
	char *depends = xasprintf("%s:%s", how, split);
	json_t *req = specs(n, "dependency", depends), *spec;
	size_t i;

	free(depends);
	json_array_foreach(json_object_get(req, "specs"), i, spec)
		if (array)
			json_object_set_new(spec, "array", json_string(array));
	return req;
}

/* The requests to make of an array that the first of them splits into many
 * records. NULL: the request names no job, and CASES has it. */
#define SPLIT_CASES(X)                                                         \
	X(control, control("hold", parts))                                     \
	X(control, control("release", parts))                                  \
	X(control, control("hold", whole))                                     \
	X(control, control("release", whole))                                  \
	X(control, control("suspend", whole))                                  \
	X(control, control("resume", whole))                                   \
	X(control, control("requeue", whole))                                  \
	X(control, control("preempt", whole))                                  \
	X(control, control("requeuehold", whole))                              \
	X(update, set(whole, "array_limit", "3"))                              \
	X(update, set(parts, "array_limit", "4"))                              \
	X(update, set(whole, "comment", "split"))                              \
	X(update, set(parts, "time", "5"))                                     \
	X(update, set(whole, "nice", "1"))                                     \
	X(update, set(whole, "dependency", "singleton"))                       \
	X(update, set(whole, "dependency", ""))                                \
	X(control, control("top", parts))                                      \
	X(control, control("top", whole))                                      \
	X(jobs, with_ids("jobs", whole))                                       \
	X(jobs, with_ids("jobs", parts))                                       \
	X(jobs, page("user", 10000, NULL, 0))                                  \
	X(attempts, with_ids("attempts", parts))                               \
	X(script, of_split("script"))                                          \
	X(log, of_split("log"))                                                \
	X(excerpt, of_split("excerpt"))                                        \
	X(step, of_split("step"))                                              \
	X(steps, with_ids("steps", whole))                                     \
	X(alloc, of_split("alloc"))                                            \
	X(exec, of_split("exec"))                                              \
	X(forward, json_pack("{s:s, s:s, s:i}", "op", "forward", "id", split,  \
	                     "port", 80))                                      \
	X(relay,                                                               \
	  json_pack("{s:s, s:s, s:i}", "op", "relay", "id", split, "task", 0)) \
	X(submit, dependents(2000, "afterok", NULL))                           \
	X(submit, dependents(2, "aftercorr", "0-9999"))                        \
	X(shares, plain("shares"))                                             \
	X(status, plain("status"))                                             \
	X(metrics, plain("metrics"))                                           \
	X(dump, plain("dump"))                                                 \
	X(report, json_pack("{s:s, s:[s]}", "op", "report", "by", "user"))     \
	X(accounting, plain("accounting"))                                     \
	X(cancel, json_pack("{s:s, s:o, s:i}", "op", "cancel", "ids", whole(), \
	                    "signal", 10))                                     \
	X(cancel, with_ids("cancel", parts))                                   \
	X(cancel, with_ids("cancel", whole))                                   \
	X(wait, with_ids("wait", parts))                                       \
	X(wait, with_ids("wait", whole))                                       \
	X(update, set(parts, "nice", "2"))                                     \
	X(cancel,                                                              \
	  json_pack("{s:s, s:[s]}", "op", "cancel", "names", "bounds"))        \
	X(history, NULL)                                                       \
	X(ping, NULL)                                                          \
	X(queues, NULL)                                                        \
	X(nodes, NULL)                                                         \
	X(relay_input, NULL)                                                   \
	X(drain, NULL)                                                         \
	X(undrain, NULL)                                                       \
	X(queue, NULL)                                                         \
	X(reserve, NULL)                                                       \
	X(unreserve, NULL)                                                     \
	X(reservations, NULL)                                                  \
	X(reload, NULL)                                                        \
	X(audit, NULL)                                                         \
	X(config, NULL)                                                        \
	X(web, NULL)                                                           \
	X(session, NULL)                                                       \
	X(crons, NULL)                                                         \
	X(cron, NULL)                                                          \
	X(cron_file, NULL)                                                     \
	X(shutdown, NULL)

/* Returns how many raw bytes the request needs: one for each script. */
static size_t raw_of(const json_t *req)
{
	const char *op = json_string_value(json_object_get(req, "op"));

	return !strcmp(op, "submit")
	           ? 1
	           : json_array_size(json_object_get(req, "entries"));
}

static json_t *call(json_t *req, struct err *why)
{
	static char raw[LIMIT_IDS];

	memset(raw, 'x', sizeof(raw));
	if (!client)
		client = client_open(NULL, why);
	if (!client)
		errx(EXIT_FAILURE, "%s", why->text);
	return client_call(client, req, raw, raw_of(req), NULL, NULL, why);
}

static long long longest_turn(void)
{
	json_t *req = plain("status");
	struct err why;
	json_t *status = call(req, &why);
	json_int_t steps =
	    json_integer_value(json_object_get(status, "turn_steps_max"));

	if (!status)
		errx(EXIT_FAILURE, "%s", why.text);
	json_decref(status);
	json_decref(req);
	return steps;
}

static void one(enum op op, int line, json_t *req)
{
	static long long most;
	double began_ms, took_ms;
	long long now;
	struct err why = { 0 };
	json_t *answer, *first;

	if (!req)
		return;
	began_ms = clock_fine_ms();
	answer = call(req, &why);
	first = json_array_get(json_object_get(answer, "job_ids"), 0);
	if (first)
		last_job = json_integer_value(first);
	json_decref(answer);
	took_ms = clock_fine_ms() - began_ms;
	now = longest_turn();
	fprintf(stderr, "# %s %d: %lld steps, %.0f ms%s%.60s\n", op_name(op),
	        line, now, took_ms, why.text[0] ? ": " : "", why.text);
	if (now > most && now > STEPS_TURN)
		printf("%s (case %d): a turn of %lld steps\n", op_name(op),
		       line, now);
	most = now;
	json_decref(req);
}

static void say_missing(const bool had[OP_N], const char *what)
{
	for (int op = 0; op < OP_N; op++)
		if (!had[op])
			printf("%s has no case%s\n", op_name((enum op)op),
			       what);
}

static void ask(void)
{
	bool had[OP_N] = { false }, had_split[OP_N] = { false };
	int n = 0;

#define ASK(op, make)        \
	had[OP_##op] = true; \
	one(OP_##op, ++n, make);
#define ASK_SPLIT(op, make)        \
	had_split[OP_##op] = true; \
	one(OP_##op, ++n, make);
	SPLIT_CASES(ASK_SPLIT)
	CASES(ASK)
	say_missing(had, "");
	say_missing(had_split, " for a split array");
	client_close(client);
}

/* Returns a request for n jobs that are not held and all differ, so that each
 * has its own row in plans. */
static json_t *unlike(int n)
{
	static int limit = 60;
	json_t *req = test_only(n), *spec;
	size_t i;

	json_object_set_new(req, "test_only", json_false());
	json_array_foreach(json_object_get(req, "specs"), i, spec)
		json_object_set_new(spec, "time_limit", json_integer(limit++));
	return req;
}

static void must(json_t *req)
{
	struct err why;
	json_t *answer = call(req, &why);

	if (!answer)
		errx(EXIT_FAILURE, "%s", why.text);
	json_decref(answer);
	json_decref(req);
}

static json_t *set_queue(const char *state)
{
	return json_pack("{s:s, s:s, s:s}", "op", "queue", "name", "default",
	                 "state", state);
}

/* Check that a test-only submission and a dump do their work beside the event
 * loop. On the loop, each would make one turn that is too long. After a queue
 * was closed or the configuration read again, they wait until the rows of all
 * jobs were looked up again, in slices. */
static void beside(void)
{
	long long longest;

	for (int i = 0; i < UNLIKE / 1000; i++)
		must(unlike(1000));
	must(test_only(1));
	must(plain("dump"));
	must(set_queue("closed"));
	must(plain("dump"));
	must(set_queue("open"));
	must(test_only(1));
	must(plain("reload"));
	must(test_only(1));
	longest = longest_turn();
	if (longest > STEPS_SLICE)
		printf("a turn of %lld steps\n", longest);
	client_close(client);
}

/* Submit many jobs that end when the job `id` is cancelled, and cancel it.
 * Print the longest turn if it was too long: these ends must be divided among
 * turns. */
static void vain(const char *id)
{
	char *depends = xasprintf("afterok:%s", id);
	long long longest;

	for (int i = 0; i < VAIN / 1000; i++) {
		json_t *req = specs(1000, "dependency", depends), *spec;
		size_t at;

		json_array_foreach(json_object_get(req, "specs"), at, spec) {
			json_object_set_new(spec, "hold", json_integer(0));
			json_object_set_new(spec, "kill_on_invalid_dep",
			                    json_integer(1));
		}
		must(req);
	}
	free(depends);
	must(json_pack("{s:s, s:[s]}", "op", "cancel", "ids", id));
	for (int i = 0; i < 50; i++)
		must(plain("ping")); /* most of these take a turn each */
	longest = longest_turn();
	if (longest > STEPS_TURN / 2)
		printf("a turn of %lld steps\n", longest);
	client_close(client);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "fill")) {
		fill(argv[2]);
	} else if (argc == 6 && !strcmp(argv[1], "ask")) {
		live = argv[2];
		past = argv[3];
		entry = argv[4];
		split = argv[5];
		ask();
	} else if (argc == 2 && !strcmp(argv[1], "beside")) {
		beside();
	} else if (argc == 3 && !strcmp(argv[1], "vain")) {
		vain(argv[2]);
	} else {
		errx(EXIT_USAGE, "fill, ask, vain or beside are expected");
	}
	return EXIT_SUCCESS;
}
