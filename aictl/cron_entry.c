/* cron_entry.c - list, show and change entries of recurring work */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aictl/command.h"
#include "aictl/cron.h"
#include "libcommon/buf.h"
#include "libcommon/client/batch.h"
#include "libcommon/client/client.h"
#include "libcommon/client/json_out.h"
#include "libcommon/client/table.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum {
	LAST_RUNS = 10,
	IDS_AT_ONCE = 50 /* ids in one request, at most */
};

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static int64_t int_of(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

static bool has(const json_t *row, const char *key)
{
	return json_is_integer(json_object_get(row, key));
}

static int add_text(const void *data, size_t len, void *arg)
{
	buf_add(arg, data, len);
	return 0;
}

/* Send a request whose answer is rows of JSON. Returns an array of them, which
 * the caller must json_decref(), or NULL after it has reported a failure. */
static json_t *ask_rows(struct ctl *ctl, json_t *req)
{
	struct buf text = { 0 };
	struct err why;
	json_t *answer = ctl_call(ctl, req, add_text, &text, &why);
	json_t *rows = answer ? json_array() : NULL;
	const char *at = text.data, *line;
	size_t len;

	if (!answer)
		ctl_warn(ctl, "cron: %s", why.text);
	while (answer && at && (line = text_line(&at, &len)))
		json_array_append_new(rows, json_loadb(line, len, 0, NULL));
	json_decref(req);
	json_decref(answer);
	buf_free(&text);
	return rows;
}

static void print_json(const json_t *value)
{
	json_out(value, JSON_COMPACT, stdout);
	putchar('\n');
}

/* --- list --------------------------------------------------------------- */

/* Append a value of a table and a tab; control characters, which might end the
 * value, become "?". */
static void put_text(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_addc(out, (unsigned char)*text < ' ' ? '?' : *text);
	buf_addc(out, '\t');
}

static void put_time(struct buf *out, const json_t *row, const char *key)
{
	if (has(row, key))
		format_time(out, int_of(row, key));
	else
		buf_addc(out, '-');
	buf_addc(out, '\t');
}

static void put_row(struct buf *out, const json_t *row)
{
	buf_printf(out, "%lld\t", (long long)int_of(row, "cron_id"));
	put_text(out, text_of(row, "name"));
	put_text(out, text_of(row, "user"));
	put_text(out, text_of(row, "queue"));
	put_text(out, text_of(row, "schedule"));
	put_text(out, *text_of(row, "time_zone") ? text_of(row, "time_zone")
	                                         : "local");
	put_text(out, text_of(row, "state"));
	put_time(out, row, "next_time");
	put_time(out, row, "last_time");
	put_text(out, *text_of(row, "last_state") ? text_of(row, "last_state")
	                                          : "-");
	buf_printf(out, "%lld\t%lld\n", (long long)int_of(row, "runs"),
	           (long long)int_of(row, "skipped"));
}

static void print_rows(const json_t *rows)
{
	static const char *const header[] = { "ID",     "NAME",     "USER",
		                              "QUEUE",  "SCHEDULE", "ZONE",
		                              "STATE",  "NEXT",     "LAST",
		                              "RESULT", "RUNS",     "SKIPPED" };
	static const bool right[ARRAY_SIZE(header)] = {
		[0] = true, [10] = true, [11] = true
	};
	struct buf text = { 0 };
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		put_row(&text, row);
	table_show(ARRAY_SIZE(header), header, right, &text);
}

/* Add a text like "a,b" to a request as a list of texts. */
static void add_items(json_t *req, const char *key, const char *text)
{
	json_t *items;

	if (!text)
		return;
	items = json_array();
	for (const char *s = text; *s;) {
		size_t len = strcspn(s, ",");

		json_array_append_new(items, json_stringn(s, len));
		s += len + (s[len] == ',');
	}
	json_object_set_new(req, key, items);
}

int cron_list(struct ctl *ctl, int argc, char **argv)
{
	json_t *req = json_pack("{s:s}", "op", "crons"), *rows, *all;

	(void)argc, (void)argv;
	add_items(req, "users", ctl->cron.user);
	add_items(req, "queues", ctl->cron.queue);
	if (ctl->cron.all)
		json_object_set_new(req, "all", json_true());
	rows = ask_rows(ctl, req);
	if (!rows)
		return EXIT_FAILURE;
	all = json_pack("{s:o}", "cron", rows);
	if (ctl->json)
		print_json(all);
	else
		print_rows(rows);
	json_decref(all);
	return EXIT_SUCCESS;
}

/* --- show --------------------------------------------------------------- */

static void line(const char *label, const char *text)
{
	if (*text)
		printf("  %-10s %s\n", label, text);
}

static void show_counts(const json_t *row)
{
	printf("  %-10s %lld, skipped %lld, missed %lld, refused %lld\n",
	       "runs", (long long)int_of(row, "runs"),
	       (long long)int_of(row, "skipped"),
	       (long long)int_of(row, "missed"),
	       (long long)int_of(row, "refused"));
}

static void show_policy(const json_t *row)
{
	struct buf text = { 0 };

	buf_printf(&text, "%s; missed times: %s", text_of(row, "policy"),
	           text_of(row, "missed_policy"));
	if (has(row, "late")) {
		buf_puts(&text, ", if not later than ");
		format_duration(&text, int_of(row, "late"));
	}
	if (int_of(row, "jitter")) {
		buf_puts(&text, "; jitter ");
		format_duration(&text, int_of(row, "jitter"));
	}
	line("overlap", text.data);
	buf_clear(&text);
	if (has(row, "until")) {
		format_time(&text, int_of(row, "until"));
		line("until", text.data);
	}
	buf_free(&text);
}

static void show_entry(const json_t *row)
{
	const json_t *next = json_object_get(row, "next"), *one;
	const char *zone = text_of(row, "time_zone");
	size_t i;

	printf("cron entry %lld %s\n", (long long)int_of(row, "cron_id"),
	       text_of(row, "name"));
	line("user", text_of(row, "user"));
	line("queue", text_of(row, "queue"));
	line("account", text_of(row, "account"));
	line("schedule", text_of(row, "schedule"));
	line("zone", *zone ? zone : "that of the daemon");
	line("state", text_of(row, "state"));
	line("reason", text_of(row, "reason_text"));
	show_policy(row);
	line("created", text_of(row, "created_text"));
	if (json_is_true(json_object_get(row, "imported")))
		line("made by", "aictl cron import");
	line("last", text_of(row, "last_text"));
	show_counts(row);
	json_array_foreach(next, i, one)
		line(i ? "" : "next", text_of(one, "time"));
}

static int latest_first(const void *a, const void *b)
{
	int64_t x = int_of(*(json_t *const *)a, "job_id");
	int64_t y = int_of(*(json_t *const *)b, "job_id");

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Request runs of an entry: if `history`, the last ones that have ended, else
 * those that have not ended. */
static json_t *ask_runs(struct ctl *ctl, int64_t id, bool history)
{
	json_t *req =
	    json_pack("{s:s, s:I, s:[s,s,s,s,s], s:s}", "op", "jobs", "cron",
	              (json_int_t)id, "fields", "job_id", "display_id", "state",
	              "cron_time", "submit_time", "format", "json");

	if (history) {
		json_object_set_new(req, "history", json_true());
		json_object_set_new(req, "sort", json_string("-end_time"));
		json_object_set_new(req, "limit", json_integer(LAST_RUNS));
	}
	return ask_rows(ctl, req);
}

static void show_run(const json_t *run)
{
	struct buf text = { 0 };

	buf_printf(&text, "  %-10s %s for ", text_of(run, "display_id"),
	           text_of(run, "state"));
	format_time(&text, int_of(run, "cron_time"));
	printf(
	    "%s, %lld s late\n", text.data,
	    (long long)(int_of(run, "submit_time") - int_of(run, "cron_time")));
	buf_free(&text);
}

/* Add the last runs of an entry to its row, the latest first. */
static int add_runs(struct ctl *ctl, json_t *row)
{
	json_t *live = ask_runs(ctl, int_of(row, "cron_id"), false);
	json_t *past =
	    live ? ask_runs(ctl, int_of(row, "cron_id"), true) : NULL;
	json_t *list = json_array();
	size_t n = 0;

	if (past) {
		size_t most = json_array_size(live) + json_array_size(past);
		json_t **run = xcalloc(most + 1, sizeof(json_t *));

		json_array_extend(past, live);
		for (; n < most; n++)
			run[n] = json_array_get(past, n);
		qsort(run, n, sizeof(json_t *), latest_first);
		for (size_t i = 0; i < n && i < LAST_RUNS; i++)
			json_array_append(list, run[i]);
		free(run);
	}
	json_object_set_new(row, "last_runs", list);
	json_decref(live);
	json_decref(past);
	return past ? 0 : -1;
}

int cron_show(struct ctl *ctl, int argc, char **argv)
{
	json_t *rows, *row, *run;
	size_t i, k;

	(void)argc;
	rows = ask_rows(
	    ctl, json_pack("{s:s, s:[s]}", "op", "crons", "ids", argv[1]));
	if (!rows)
		return EXIT_FAILURE;
	json_array_foreach(rows, i, row) {
		if (add_runs(ctl, row) < 0) {
			json_decref(rows);
			return EXIT_FAILURE;
		}
		if (ctl->json) {
			print_json(row);
			continue;
		}
		answer_clean(row);
		show_entry(row);
		json_array_foreach(json_object_get(row, "last_runs"), k, run)
			show_run(run);
	}
	json_decref(rows);
	return EXIT_SUCCESS;
}

/* --- changes ------------------------------------------------------------ */

static int act(struct ctl *ctl, const char *action, int n, char **id)
{
	json_t *req = json_pack("{s:s, s:s}", "op", "cron", "action", action);
	json_t *ids = json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(ids, json_string(id[i]));
	json_object_set_new(req, "ids", ids);
	if (ctl->cron.cancel)
		json_object_set_new(req, "cancel", json_true());
	return ctl_finish(ctl, ctl_ask(ctl, req));
}

/* Run pause, resume or delete; argv[0] is the action. */
int cron_act(struct ctl *ctl, int argc, char **argv)
{
	int status = EXIT_SUCCESS, n;

	for (int i = 1; i < argc; i += n) {
		n = argc - i < IDS_AT_ONCE ? argc - i : IDS_AT_ONCE;
		if (act(ctl, argv[0], n, argv + i) != EXIT_SUCCESS)
			status = EXIT_FAILURE;
	}
	return status;
}

int cron_run(struct ctl *ctl, int argc, char **argv)
{
	int status = EXIT_SUCCESS;

	for (int i = 1; i < argc; i++) {
		json_t *answer =
		    ctl_ask(ctl, json_pack("{s:s, s:s, s:[s]}", "op", "cron",
		                           "action", "run", "ids", argv[i]));

		if (answer && !ctl->json)
			printf("Submitted batch job %lld\n",
			       (long long)int_of(answer, "job_id"));
		if (ctl_finish(ctl, answer) != EXIT_SUCCESS)
			status = EXIT_FAILURE;
	}
	return status;
}

/* Read the file in script=FILE. */
static int take_script(const char *name, struct buf *script, struct err *err)
{
	int fd = batch_open(name), rc;

	if (fd < 0)
		return err_sys(err, "cannot open script '%s'", name);
	rc = batch_read(fd, name, script, err);
	close(fd);
	return rc < 0 || script->len
	           ? rc
	           : err_set(err, EINVAL, "script '%s' is empty", name);
}

static int take_field(json_t *set, const char *word, struct buf *script,
                      struct err *err)
{
	size_t len = strcspn(word, "=");

	if (!len || !word[len])
		return err_set(err, EINVAL, "'%s' is no field=value", word);
	if (len == 6 && !strncmp(word, "script", len))
		return take_script(word + len + 1, script, err);
	if (json_object_setn_new(set, word, len, json_string(word + len + 1)) <
	    0)
		return err_set(err, EINVAL, "'%s' is not UTF-8", word);
	return 0;
}

int cron_update(struct ctl *ctl, int argc, char **argv)
{
	json_t *ids = json_array(), *set = json_object(), *req, *answer = NULL;
	struct buf script = { 0 };
	struct err why = { 0 };
	int rc = 0, i = 1;

	for (; i < argc && !strchr(argv[i], '='); i++)
		json_array_append_new(ids, json_string(argv[i]));
	if (i == 1 || i == argc)
		rc = err_set(&why, EINVAL, "update takes ID... FIELD=VALUE...");
	for (; i < argc && rc == 0; i++)
		rc = take_field(set, argv[i], &script, &why);
	req = json_pack("{s:s, s:s, s:o, s:o}", "op", "cron", "action",
	                "update", "ids", ids, "set", set);
	if (rc == 0) {
		answer = ctl_send(ctl, req, &script, NULL, NULL, &why);
		rc = answer ? 0 : -1;
		i = -1;
	}
	if (rc < 0)
		ctl_warn(ctl, "cron: %s", why.text);
	else if (ctl->json)
		print_json(answer);
	json_decref(req);
	buf_free(&script);
	if (rc < 0)
		return i < 0 ? EXIT_FAILURE : EXIT_USAGE;
	return ctl_finish(ctl, answer);
}
