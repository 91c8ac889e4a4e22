/* show.c - show everything about one job */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aiq/aiq.h"
#include "aiq/list.h"
#include "aiq/show.h"
#include "aiq/show_array.h"
#include "aiq/show_attempts.h"
#include "libcommon/buf.h"
#include "libcommon/cron/zone.h"
#include "libcommon/job_fields.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"
#include "libcommon/parse.h"

static const struct {
	const char *name;
	bool shown;
} fields[] = {
#define X(name, usual, shown) { #name, shown },
	JOB_FIELDS(X)
#undef X
};

const char *show_text_of(const json_t *job, const char *key)
{
	const char *s = json_string_value(json_object_get(job, key));

	return s && *s ? s : NULL;
}

bool show_int_of(const json_t *job, const char *key, int64_t *ret)
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

void show_line(const char *label, const char *fmt, ...)
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

/* Print a line with a text of the row, unless the row has no such text. */
static void show_text(const json_t *job, const char *label, const char *key)
{
	if (show_text_of(job, key))
		show_line(label, "%s", show_text_of(job, key));
}

static void show_time(const json_t *job, const char *label, const char *key)
{
	struct buf text = { 0 };
	int64_t t;

	if (!show_int_of(job, key, &t))
		return;
	format_time(&text, t);
	show_line(label, "%s", text.data);
	buf_free(&text);
}

static void add_plural(struct buf *out, double n, const char *noun)
{
	buf_printf(out, "%.10g %s%s", n, noun, n == 1 ? "" : "s");
}

static bool has_run(const json_t *job)
{
	int64_t start;

	return show_int_of(job, "start_time", &start);
}

static void show_state(const json_t *job)
{
	const char *state = show_text_of(job, "state");
	int64_t code, signo, elapsed, limit;
	struct buf text = { 0 };

	buf_puts(&text, state ? state : "?");
	if (show_int_of(job, "signal", &signo) && signo > 0)
		buf_printf(&text, ", ended by SIG%s", signal_name((int)signo));
	else if (show_int_of(job, "exit_code", &code) && has_run(job))
		buf_printf(&text, ", exit status %lld", (long long)code);
	if (show_int_of(job, "elapsed", &elapsed) && elapsed > 0) {
		buf_puts(&text, ", ran ");
		format_duration(&text, elapsed);
		if (show_int_of(job, "time_limit", &limit) && limit >= 0) {
			buf_puts(&text, " of ");
			format_duration(&text, limit);
		}
	}
	if (show_int_of(job, "restarts", &code) && code > 0 &&
	    show_int_of(job, "elapsed_ms", &elapsed)) {
		buf_puts(&text, ", in all attempts ");
		format_duration(&text, elapsed / 1000);
	}
	show_line("state", "%s", text.data);
	buf_free(&text);
}

/* Print "59.41 points: priority 50, age 0.01, size 0, fair share 9.4". */
static void show_score(const json_t *job)
{
	double priority, age, size, fair_share, total;
	int overdue;

	if (json_unpack(json_object_get(job, "score"),
	                "{s:F, s:F, s:F, s:F, s:F, s:b}", "priority", &priority,
	                "age", &age, "size", &size, "fair_share", &fair_share,
	                "total", &total, "overdue", &overdue) == 0)
		show_line(
		    "order",
		    "%.10g points: priority %.10g, age %.10g, size %.10g, "
		    "fair share %.10g%s",
		    total, priority, age, size, fair_share,
		    overdue ? "; it has waited too long and goes first" : "");
}

/* Whether the job runs with fewer tasks than it may have. */
static bool is_short(const json_t *job)
{
	int64_t least, most, n;

	return show_int_of(job, "min_tasks", &least) &&
	       show_int_of(job, "tasks", &most) &&
	       show_int_of(job, "running_tasks", &n) && n >= least && n < most;
}

/* Show why a job waits and until when; or how it ended. */
void show_why(const json_t *job)
{
	const char *state = show_text_of(job, "state");
	const char *why = show_text_of(job, "reason");
	const char *because = show_text_of(job, "reason_text");
	struct buf text = { 0 };
	int64_t t, n, now = time(NULL);

	if (why && strcmp(why, reason_name(WHY_None)) != 0)
		show_line("reason", "%s%s%s", why, because ? ": " : "",
		          because ? because : "");
	else if (because && *because &&
	         !(show_int_of(job, "replaced_tasks", &n) && n))
		/* start or end is late, or tasks were lost */
		show_line(is_short(job) ? "lately" : "held up", "%s", because);
	if (!state || strcmp(state, job_state_name(JOB_PENDING)) != 0)
		return; /* only a pending job has an expected start */
	if (show_int_of(job, "expected_start", &t)) {
		format_time(&text, t);
		if (t > now) {
			buf_puts(&text, ", in ");
			format_duration(&text, t - now);
		}
		show_line("expected start", "%s", text.data);
	} else {
		show_line("expected start", "not known");
	}
	buf_free(&text);
	if (show_int_of(job, "position", &t))
		show_line("position", "%lld in its queue", (long long)t);
	show_score(job);
}

static void show_size(const json_t *job, const char *title, const char *key,
                      const char *behind)
{
	struct buf size = { 0 };
	int64_t n;

	if (!show_int_of(job, key, &n) || n <= 0)
		return;
	format_mib(&size, n);
	show_line(title, "%s%s", size.data, behind);
	buf_free(&size);
}

void show_request(const json_t *job)
{
	double cpus = resource_of(job, "cpus");
	double mem = resource_of(job, "memory_mib");
	double gpus = resource_of(job, "gpus");
	struct buf text = { 0 };
	int64_t tasks, min_tasks, running, n;

	show_int_of(job, "tasks", &tasks);
	add_plural(&text, (double)tasks, "task");
	if (show_int_of(job, "min_tasks", &min_tasks) && min_tasks < tasks)
		buf_printf(&text, " (at least %lld)", (long long)min_tasks);
	if (show_int_of(job, "running_tasks", &running) && running > 0 &&
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
	show_line("asks for", "%s", text.data);
	buf_free(&text);
	if (!has_run(job))
		show_text(job, "time limit", "limit");
	show_text(job, "on nodes", "req_nodes");
	show_text(job, "not on nodes", "exclude");
	show_text(job, "with features", "constraint");
	show_text(job, "prefers", "prefer");
	show_text(job, "topology", "topology");
	show_text(job, "spread over", "spread");
	show_text(job, "near", "near");
	show_text(job, "apart from", "apart");
	show_size(job, "disk", "tmp_mib", " on each node");
	show_size(job, "GPU memory", "gpu_memory_mib", "");
	if (show_int_of(job, "segment", &n))
		show_line("in segments of", "%lld", (long long)n);
	show_text(job, "NUMA", "numa");
	show_text(job, "Links", "links");
	show_text(job, "licences", "licenses");
	show_text(job, "other devices", "device");
	show_text(job, "array", "array_tasks");
	show_text(job, "depends on", "dependency");
}

static void show_nodes(const json_t *job)
{
	json_t *nodes = json_object_get(job, "nodes");
	struct buf text = { 0 };
	const char *name;
	json_t *tasks;

	if (json_object_size(nodes) > 8) {
		show_text(job, "nodes", "nodelist");
		return;
	}
	json_object_foreach(nodes, name, tasks) {
		buf_printf(&text, "%s%s (", text.len ? ", " : "", name);
		add_plural(&text, json_number_value(tasks), "task");
		buf_puts(&text, ")");
	}
	if (text.len)
		show_line("nodes", "%s", text.data);
	buf_free(&text);
}

/* Print for which time of recurring work the job runs, with the offset from
 * UTC, since the clock shows some local times twice. */
static void show_cron(const json_t *job)
{
	int64_t id, at, submit;
	struct zone *zone;
	char text[ZONE_TEXT];

	if (!show_int_of(job, "cron_id", &id) ||
	    !show_int_of(job, "cron_time", &at) ||
	    !show_int_of(job, "submit_time", &submit))
		return;
	zone = zone_load(NULL, NULL);
	if (!zone)
		return;
	zone_format(zone, at, text);
	show_line("cron", "%lld, for %s, %lld s late", (long long)id, text,
	          (long long)(submit - at));
	zone_free(zone);
}

static void show_times(const json_t *job)
{
	int64_t eligible, submit;

	show_time(job, "submitted", "submit_time");
	if (show_int_of(job, "eligible_time", &eligible) &&
	    show_int_of(job, "submit_time", &submit) && eligible != submit)
		show_time(job, "eligible", "eligible_time");
	show_cron(job);
	show_time(job, "not before", "begin_time");
	show_time(job, "deadline", "deadline");
	show_time(job, "started", "start_time");
	show_time(job, "ended", "end_time");
}

/* Returns how many tasks are on the node with the most tasks of the job. The
 * job's memory on a node is proportional to its tasks there. */
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

double show_memory_of(const json_t *job)
{
	return resource_of(job, "memory_mib") * most_tasks(job);
}

/* Print for how long the GPUs of a running job have been idle. */
static void show_idle(const json_t *job)
{
	struct buf text = { 0 };
	int64_t idle;

	if (!show_int_of(job, "gpu_idle_seconds", &idle))
		return;
	format_duration(&text, idle);
	show_line("GPUs idle for", "%s", text.data);
	buf_free(&text);
}

static void show_gpus(const json_t *job)
{
	double held =
	    json_number_value(json_object_get(job, "held_gpu_seconds"));
	const json_t *util = json_object_get(job, "gpu_util");
	struct buf text = { 0 };
	int64_t busy, mem, total;

	if (held <= 0)
		return;
	if (show_int_of(job, "gpu_busy_seconds", &busy)) {
		format_duration(&text, busy);
		buf_puts(&text, " of ");
		format_duration(&text, (int64_t)held);
		if (json_is_number(util))
			buf_printf(&text, " (%.0f %%)",
			           100 * json_number_value(util));
		show_line("GPU time", "%s", text.data);
		buf_clear(&text);
	}
	if (show_int_of(job, "gpu_mem_mib", &mem) &&
	    show_int_of(job, "gpu_mem_total_mib", &total) && total > 0) {
		format_mib(&text, mem);
		buf_puts(&text, " of ");
		format_mib(&text, total);
		buf_printf(&text, " (%.0f %%)",
		           100 * (double)mem / (double)total);
		show_line("GPU memory", "%s", text.data);
	}
	buf_free(&text);
}

/* Print how much the job used of the resources that it held. */
static void show_usage(const json_t *job)
{
	struct buf text = { 0 };
	int64_t used, peak;
	double had;

	had = json_number_value(json_object_get(job, "held_cpu_seconds"));
	if (show_int_of(job, "cpu_seconds", &used)) {
		format_duration(&text, used);
		if (had >= 1) {
			buf_puts(&text, " of ");
			format_duration(&text, (int64_t)had);
			buf_printf(&text, " (%.0f %%)",
			           100 * (double)used / had);
		}
		show_line("CPU time", "%s", text.data);
		buf_clear(&text);
	}
	had = show_memory_of(job);
	if (show_int_of(job, "peak_mem_mib", &peak)) {
		format_mib(&text, peak);
		if (had >= 1) {
			buf_puts(&text, " of ");
			format_mib(&text, (int64_t)had);
			buf_printf(&text, " (%.0f %%)",
			           100 * (double)peak / had);
		}
		show_line("peak memory", "%s", text.data);
	}
	buf_free(&text);
	show_gpus(job);
}

/* Print how many tasks were replaced and, for a running job, how the last of
 * them failed. */
static void show_replaced(const json_t *job)
{
	const char *why = show_text_of(job, "reason");
	const char *last = show_text_of(job, "reason_text");
	int64_t n;

	if (!show_int_of(job, "replaced_tasks", &n) || n == 0)
		return;
	if (!last || !why || strcmp(why, reason_name(WHY_None)) != 0)
		show_line("replaced", "%lld task%s", (long long)n,
		          n == 1 ? "" : "s");
	else
		show_line("replaced", "%lld task%s; %s", (long long)n,
		          n == 1 ? "" : "s", last);
}

static void show_starts(const json_t *job)
{
	int64_t n, most;

	if (show_int_of(job, "restarts", &n) && n > 0) {
		if (show_int_of(job, "max_restarts", &most))
			show_line("restarts", "%lld of at most %lld",
			          (long long)n, (long long)most);
		else
			show_line("restarts", "%lld", (long long)n);
	}
	show_text(job, "if a task fails", "on_task_failure");
	show_replaced(job);
	if (show_int_of(job, "preemptions", &n) && n > 0)
		show_line("preempted", "%lld time%s", (long long)n,
		          n == 1 ? "" : "s");
}

/* Print "job 12_3 train (id 15)". */
static void show_title(const json_t *job)
{
	const char *id = show_text_of(job, "display_id");
	const char *name = show_text_of(job, "name");
	struct buf text = { 0 };
	int64_t own;

	buf_printf(&text, "job %s", id ? id : "?");
	if (name)
		buf_printf(&text, " %s", name);
	if (id && strchr(id, '_') && show_int_of(job, "job_id", &own))
		buf_printf(&text, " (id %lld)", (long long)own);
	put_clean(stdout, text.data, text.len);
	putchar('\n');
	buf_free(&text);
}

void show_files(const json_t *job)
{
	const char *output = show_text_of(job, "output");
	const char *error = show_text_of(job, "error");

	show_text(job, "command", "command");
	show_text(job, "submitted from", "submit_host");
	show_text(job, "folder", "workdir");
	show_text(job, "output", "output");
	if (error && output && strcmp(error, output) != 0)
		show_line("error output", "%s", error);
	show_text(job, "input", "input");
}

static void show_labels(const json_t *labels)
{
	struct buf text = { 0 };
	const json_t *value;
	const char *key;

	json_object_foreach((json_t *)labels, key, value)
		buf_printf(&text, "%s%s=%s", text.len ? "," : "", key,
		           json_string_value(value));
	if (text.len)
		show_line("labels", "%s", text.data);
	buf_free(&text);
}

/* Print name, address and port of each port; "-" if the job has no address
 * now. */
static void show_ports(const json_t *ports)
{
	const json_t *port;
	size_t i;

	json_array_foreach(ports, i, port) {
		const char *name = show_text_of(port, "name");
		const char *address = show_text_of(port, "address");
		int64_t number;

		if (name && show_int_of(port, "port", &number))
			show_line(i ? "" : "ports", "%s %s %lld", name,
			          address ? address : "-", (long long)number);
	}
}

static void show_mail(const json_t *job)
{
	const char *types = show_text_of(job, "mail_type");
	const char *to = show_text_of(job, "mail_user");

	if (types)
		show_line("mail", "%s to %s", types,
		          to ? to : show_text_of(job, "user"));
}

void show_owner(const json_t *job)
{
	int64_t priority;

	show_text(job, "user", "user");
	show_text(job, "account", "account");
	show_text(job, "queue", "queue");
	show_text(job, "namespace", "namespace");
	show_text(job, "class", "class");
	if (show_int_of(job, "priority", &priority))
		show_line("priority", "%lld", (long long)priority);
	show_text(job, "comment", "comment");
	show_labels(json_object_get(job, "labels"));
	show_ports(json_object_get(job, "ports"));
	show_mail(job);
}

static void show_acts(const json_t *job)
{
	const json_t *acts = json_object_get(job, "acts"), *act;
	size_t i;

	json_array_foreach(acts, i, act) {
		const char *name = show_text_of(act, "act");
		const char *user = show_text_of(act, "user");
		struct buf text = { 0 };
		int64_t t;

		if (!name || !user || !show_int_of(act, "time", &t))
			continue;
		format_time(&text, t);
		show_line(i ? "" : "acts", "%s %s by %s", text.data, name,
		          user);
		buf_free(&text);
	}
}

int show_job(struct client *client, const json_t *job, struct err *err)
{
	int64_t ended;
	int rc;

	show_title(job);
	show_state(job);
	show_why(job);
	show_owner(job);
	show_request(job);
	show_nodes(job);
	show_text(job, "devices", "devices");
	show_idle(job);
	show_times(job);
	show_acts(job);
	show_starts(job);
	rc = attempts_show(client, job, err);
	if (has_run(job) && show_int_of(job, "end_time", &ended))
		show_usage(job);
	show_files(job);
	return rc;
}

static int add_part(const void *data, size_t len, void *arg)
{
	buf_add(arg, data, len);
	return 0;
}

static int show_rows(const struct aiq *aiq, struct client *client,
                     const char *at, const char *end, struct err *err)
{
	struct arrays *arrays = arrays_new(aiq);
	bool first = true;
	int rc = 0;

	while (at < end && rc == 0) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((eol ? eol : end) - at);
		json_t *job = json_loadb(at, len, 0, NULL);

		if (!job) {
			rc = err_set(err, EPROTO,
			             "the daemon's answer is not JSON");
		} else if (!arrays_take(arrays, job)) {
			if (!first)
				putchar('\n');
			first = false;
			rc = show_job(client, job, err);
		}
		json_decref(job);
		at += len + 1;
	}
	if (rc == 0)
		rc = arrays_show(arrays, client, first, err);
	arrays_free(arrays);
	return rc;
}

int show_jobs(const struct aiq *aiq, struct client *client, struct err *err)
{
	json_t *req = list_request(aiq, NULL), *names = json_array(), *answer;
	struct buf rows = { 0 };
	int rc = -1;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].shown)
			json_array_append_new(names,
			                      json_string(fields[i].name));
	json_object_set_new(req, "fields", names);
	answer = client_call(client, req, NULL, 0, add_part, &rows, err);
	if (answer) {
		rc = show_rows(aiq, client, rows.data, rows.data + rows.len,
		               err);
		if (!rc)
			rc = list_missing(aiq, answer, err);
	}
	json_decref(answer);
	json_decref(req);
	buf_free(&rows);
	return rc;
}
