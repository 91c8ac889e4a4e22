/* show.c - everything about one job, in words */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aiq/aiq.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"
#include "libcommon/parse.h"

static const char *const fields[] = {
	"display_id",     "job_id",          "name",         "user",
	"account",        "queue",           "class",        "priority",
	"comment",        "state",           "reason",       "reason_text",
	"expected_start", "position",        "score",        "tasks",
	"min_tasks",      "running_tasks",   "resources",    "num_nodes",
	"nodes",          "nodelist",        "req_nodes",    "exclude",
	"constraint",     "licenses",        "dependency",   "submit_time",
	"eligible_time",  "begin_time",      "deadline",     "start_time",
	"end_time",       "elapsed",         "time_limit",   "exit_code",
	"signal",         "restarts",        "max_restarts", "preemptions",
	"attempt",        "requeue",         "cpu_seconds",  "peak_mem_mib",
	"workdir",        "output",          "error",        "input",
	"array_tasks",    "submit_host",     "topology",     "numa",
	"replaced_tasks", "on_task_failure",
};

/* Values of a row; NULL and false stand for null and "not there". */
static const char *text_of(const json_t *job, const char *key)
{
	const char *s = json_string_value(json_object_get(job, key));

	return s && *s ? s : NULL;
}

static bool int_of(const json_t *job, const char *key, int64_t *ret)
{
	const json_t *value = json_object_get(job, key);

	*ret = json_is_number(value) ? (int64_t)json_number_value(value) : 0;
	return json_is_number(value);
}

static double resource_of(const json_t *job, const char *key)
{
	return json_number_value(
	    json_object_get(json_object_get(job, "resources"), key));
}

/* "  label          text" */
static void line(const char *label, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void line(const char *label, const char *fmt, ...)
{
	char text[8192];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("  %-14s ", label);
	put_clean(stdout, text,
	          n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
	putchar('\n');
}

static void line_text(const json_t *job, const char *label, const char *key)
{
	if (text_of(job, key))
		line(label, "%s", text_of(job, key));
}

static void line_time(const json_t *job, const char *label, const char *key)
{
	struct buf text = { 0 };
	int64_t t;

	if (!int_of(job, key, &t))
		return;
	format_time(&text, t);
	line(label, "%s", text.data);
	buf_free(&text);
}

static void add_plural(struct buf *out, double n, const char *noun)
{
	buf_printf(out, "%.10g %s%s", n, noun, n == 1 ? "" : "s");
}

static bool has_run(const json_t *job)
{
	int64_t start;

	return int_of(job, "start_time", &start);
}

static void show_state(const json_t *job)
{
	const char *state = text_of(job, "state");
	int64_t code, signo, elapsed, limit;
	struct buf text = { 0 };

	buf_puts(&text, state ? state : "?");
	if (int_of(job, "signal", &signo) && signo > 0)
		buf_printf(&text, ", ended by SIG%s", signal_name((int)signo));
	else if (int_of(job, "exit_code", &code) && has_run(job))
		buf_printf(&text, ", exit status %lld", (long long)code);
	if (int_of(job, "elapsed", &elapsed) && elapsed > 0) {
		buf_puts(&text, ", ran ");
		format_duration(&text, elapsed);
		if (int_of(job, "time_limit", &limit) && limit >= 0) {
			buf_puts(&text, " of ");
			format_duration(&text, limit);
		}
	}
	line("state", "%s", text.data);
	buf_free(&text);
}

/* "59.41 points: priority 50, age 0.01, size 0, fair share 9.4" */
static void show_score(const json_t *job)
{
	double priority, age, size, fair_share, total;
	int overdue;

	if (json_unpack(json_object_get(job, "score"),
	                "{s:F, s:F, s:F, s:F, s:F, s:b}", "priority", &priority,
	                "age", &age, "size", &size, "fair_share", &fair_share,
	                "total", &total, "overdue", &overdue) == 0)
		line("order",
		     "%.10g points: priority %.10g, age %.10g, size %.10g, "
		     "fair share %.10g%s",
		     total, priority, age, size, fair_share,
		     overdue ? "; it has waited too long and goes first" : "");
}

/* Why it waits and until when; how it ended. */
static void show_why(const json_t *job)
{
	const char *state = text_of(job, "state");
	const char *why = text_of(job, "reason");
	const char *because = text_of(job, "reason_text");
	struct buf text = { 0 };
	int64_t t, n, now = time(NULL);

	if (why && strcmp(why, reason_name(WHY_None)) != 0)
		line("reason", "%s%s%s", why, because ? ": " : "",
		     because ? because : "");
	else if (because && *because &&
	         !(int_of(job, "replaced_tasks", &n) && n))
		line("held up", "%s", because); /* its start, or its end */
	if (!state || strcmp(state, job_state_name(JOB_PENDING)) != 0)
		return;
	if (int_of(job, "expected_start", &t)) {
		format_time(&text, t);
		if (t > now) {
			buf_puts(&text, ", in ");
			format_duration(&text, t - now);
		}
		line("expected start", "%s", text.data);
	} else {
		line("expected start", "not known");
	}
	buf_free(&text);
	if (int_of(job, "position", &t))
		line("position", "%lld in its queue", (long long)t);
	show_score(job);
}

static void show_request(const json_t *job)
{
	double cpus = resource_of(job, "cpus");
	double mem = resource_of(job, "memory_mib");
	double gpus = resource_of(job, "gpus");
	struct buf text = { 0 };
	int64_t tasks, min_tasks, running;

	int_of(job, "tasks", &tasks);
	add_plural(&text, (double)tasks, "task");
	if (int_of(job, "min_tasks", &min_tasks) && min_tasks < tasks)
		buf_printf(&text, " (at least %lld)", (long long)min_tasks);
	if (int_of(job, "running_tasks", &running) && running > 0 &&
	    running != tasks)
		buf_printf(&text, ", %lld running", (long long)running);
	buf_puts(&text, tasks == 1 ? " with " : ", each with ");
	add_plural(&text, cpus, "CPU");
	buf_puts(&text, ", ");
	format_mib(&text, (int64_t)mem);
	if (gpus > 0) {
		buf_puts(&text, ", ");
		add_plural(&text, gpus, "GPU");
	}
	line("asks for", "%s", text.data);
	buf_free(&text);
	line_text(job, "on nodes", "req_nodes");
	line_text(job, "not on nodes", "exclude");
	line_text(job, "with features", "constraint");
	line_text(job, "topology", "topology");
	line_text(job, "NUMA", "numa");
	line_text(job, "licences", "licenses");
	line_text(job, "array", "array_tasks");
	line_text(job, "depends on", "dependency");
}

static void show_nodes(const json_t *job)
{
	json_t *nodes = json_object_get(job, "nodes");
	struct buf text = { 0 };
	const char *name;
	json_t *tasks;

	if (json_object_size(nodes) > 8) {
		line_text(job, "nodes", "nodelist");
		return;
	}
	json_object_foreach(nodes, name, tasks) {
		buf_printf(&text, "%s%s (", text.len ? ", " : "", name);
		add_plural(&text, json_number_value(tasks), "task");
		buf_puts(&text, ")");
	}
	if (text.len)
		line("nodes", "%s", text.data);
	buf_free(&text);
}

static void show_times(const json_t *job)
{
	int64_t eligible, submit;

	line_time(job, "submitted", "submit_time");
	if (int_of(job, "eligible_time", &eligible) &&
	    int_of(job, "submit_time", &submit) && eligible != submit)
		line_time(job, "eligible", "eligible_time");
	line_time(job, "not before", "begin_time");
	line_time(job, "deadline", "deadline");
	line_time(job, "started", "start_time");
	line_time(job, "ended", "end_time");
}

/* How many tasks the fullest node has, for what a node may hold. */
static double most_tasks(const json_t *job)
{
	json_t *nodes = json_object_get(job, "nodes"), *tasks;
	const char *name;
	double most = 1;

	json_object_foreach(nodes, name, tasks)
		if (json_number_value(tasks) > most)
			most = json_number_value(tasks);
	return most;
}

/* Used against had; what was asked for in vain is worth knowing. */
static void show_usage(const json_t *job)
{
	struct buf text = { 0 };
	int64_t used, peak, elapsed, tasks;
	double had;

	int_of(job, "elapsed", &elapsed);
	int_of(job, "tasks", &tasks);
	had = resource_of(job, "cpus") * (double)tasks * (double)elapsed;
	if (int_of(job, "cpu_seconds", &used)) {
		format_duration(&text, used);
		if (had >= 1) {
			buf_puts(&text, " of ");
			format_duration(&text, (int64_t)had);
			buf_printf(&text, " (%.0f %%)",
			           100 * (double)used / had);
		}
		line("CPU time", "%s", text.data);
		buf_clear(&text);
	}
	had = resource_of(job, "memory_mib") * most_tasks(job);
	if (int_of(job, "peak_mem_mib", &peak)) {
		format_mib(&text, peak);
		if (had >= 1) {
			buf_puts(&text, " of ");
			format_mib(&text, (int64_t)had);
			buf_printf(&text, " (%.0f %%)",
			           100 * (double)peak / had);
		}
		line("peak memory", "%s", text.data);
	}
	buf_free(&text);
}

/* While it runs, with what happened to the last of them. */
static void show_replaced(const json_t *job)
{
	const char *why = text_of(job, "reason");
	const char *last = text_of(job, "reason_text");
	int64_t n;

	if (!int_of(job, "replaced_tasks", &n) || n == 0)
		return;
	if (!last || !why || strcmp(why, reason_name(WHY_None)) != 0)
		line("replaced", "%lld task%s", (long long)n,
		     n == 1 ? "" : "s");
	else
		line("replaced", "%lld task%s; %s", (long long)n,
		     n == 1 ? "" : "s", last);
}

static void show_starts(const json_t *job)
{
	int64_t n, most;

	if (int_of(job, "restarts", &n) && n > 0) {
		if (int_of(job, "max_restarts", &most))
			line("restarts", "%lld of at most %lld", (long long)n,
			     (long long)most);
		else
			line("restarts", "%lld", (long long)n);
	}
	line_text(job, "if a task fails", "on_task_failure");
	show_replaced(job);
	if (int_of(job, "preemptions", &n) && n > 0)
		line("preempted", "%lld times", (long long)n);
}

/* "job 12_3 train (id 15)" */
static void show_title(const json_t *job)
{
	const char *id = text_of(job, "display_id");
	const char *name = text_of(job, "name");
	struct buf text = { 0 };
	int64_t own;

	buf_printf(&text, "job %s", id ? id : "?");
	if (name)
		buf_printf(&text, " %s", name);
	if (id && strchr(id, '_') && int_of(job, "job_id", &own))
		buf_printf(&text, " (id %lld)", (long long)own);
	put_clean(stdout, text.data, text.len);
	putchar('\n');
	buf_free(&text);
}

static void show_files(const json_t *job)
{
	const char *output = text_of(job, "output");
	const char *error = text_of(job, "error");

	line_text(job, "submitted from", "submit_host");
	line_text(job, "folder", "workdir");
	line_text(job, "output", "output");
	if (error && output && strcmp(error, output) != 0)
		line("error output", "%s", error);
	line_text(job, "input", "input");
}

static void show_job(const json_t *job)
{
	int64_t priority, ended;

	show_title(job);
	show_state(job);
	show_why(job);
	line_text(job, "user", "user");
	line_text(job, "account", "account");
	line_text(job, "queue", "queue");
	line_text(job, "class", "class");
	if (int_of(job, "priority", &priority))
		line("priority", "%lld", (long long)priority);
	line_text(job, "comment", "comment");
	show_request(job);
	show_nodes(job);
	show_times(job);
	show_starts(job);
	if (has_run(job) && int_of(job, "end_time", &ended))
		show_usage(job);
	show_files(job);
}

static int add_part(const void *data, size_t len, void *arg)
{
	buf_add(arg, data, len);
	return 0;
}

static int show_rows(const char *at, const char *end, struct err *err)
{
	bool first = true;

	while (at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((eol ? eol : end) - at);
		json_t *job = json_loadb(at, len, 0, NULL);

		if (!job)
			return err_set(err, EPROTO,
			               "the daemon's answer is not JSON");
		if (!first)
			putchar('\n');
		first = false;
		show_job(job);
		json_decref(job);
		at += len + 1;
	}
	return 0;
}

int show_jobs(const struct aiq *aiq, struct client *client, struct err *err)
{
	json_t *req = list_request(aiq, NULL), *names = json_array(), *answer;
	struct buf rows = { 0 };
	int rc = -1;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		json_array_append_new(names, json_string(fields[i]));
	json_object_set_new(req, "fields", names);
	answer = client_call(client, req, NULL, 0, add_part, &rows, err);
	if (answer) {
		rc = show_rows(rows.data, rows.data + rows.len, err);
		if (!rc)
			rc = list_missing(answer, err);
	}
	json_decref(answer);
	json_decref(req);
	buf_free(&rows);
	return rc;
}
