/* efficiency.c - compare what jobs used with what they held and requested */
#include "aiq/efficiency.h"

#include <stdlib.h>
#include <string.h>

#include "aiq/list.h"
#include "aiq/sheet.h"
#include "aiq/show.h"
#include "libcommon/client/filter_opt.h"
#include "libcommon/client/json_out.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"

static const struct sheet_column columns[] = {
	{ "jobid", "JOBID", SHEET_TEXT, 0 },
	{ "name", "NAME", SHEET_TEXT, 0 },
	{ "user", "USER", SHEET_TEXT, 0 },
	{ "account", "ACCOUNT", SHEET_TEXT, 0 },
	{ "queue", "QUEUE", SHEET_TEXT, 0 },
	{ "state", "STATE", SHEET_TEXT, 0 },
	{ "elapsed", "ELAPSED", SHEET_SECONDS, 3 },
	{ "timeeff", "TIMEEFF", SHEET_RATIO, 6 },
	{ "cpueff", "CPUEFF", SHEET_RATIO, 6 },
	{ "memeff", "MEMEFF", SHEET_RATIO, 6 },
	{ "gpueff", "GPUEFF", SHEET_RATIO, 6 },
	{ "gpumem", "GPUMEM", SHEET_RATIO, 6 },
	{ "hint", "HINT", SHEET_LIST, 0 },
};

static const char standard[] =
    "jobid,user,state,elapsed,timeeff,cpueff,memeff,gpueff,gpumem,hint";

/* Fields to request from the daemon. */
static const char *const fields[] = {
	"display_id",
	"array_job_id",
	"name",
	"user",
	"account",
	"queue",
	"state",
	"start_time",
	"elapsed_ms",
	"longest_ms",
	"end_time",
	"time_limit",
	"cpu_seconds",
	"peak_mem_mib",
	"held_cpu_seconds",
	"resources",
	"nodes",
	"held_gpu_seconds",
	"gpu_busy_seconds",
	"gpu_known_seconds",
	"gpu_mem_mib",
	"gpu_mem_total_mib",
};

/* Show how busy a job's GPUs were only if at least this fraction of their time
 * was measured. */
#define LEAST_KNOWN 0.9

/* A row of the output: a job, or the listed tasks of an array. */
struct group {
	int64_t array; /* 0: one job */
	json_t *first;
	uint64_t n, completed;
	/* In seconds; limit < 0: some job has no limit. */
	double elapsed, longest, limit;
	double cpu_used, cpu_held; /* sums over jobs whose use is known */
	/* Highest ratio of used to requested memory of a job; < 0:
	 * not known. */
	double mem;
	double gpu_busy, gpu_known, gpu_held;
	double gpu_mem; /* highest ratio of used to all GPU memory; < 0: not
	                   known */
};

struct groups {
	struct group **group;
	size_t n, cap;
	struct map arrays;
	bool tasks; /* a row for each task of an array */
	struct buf text;
};

int efficiency_check(const struct aiq *aiq, struct err *err)
{
	struct sheet_column chosen[2 * ARRAY_SIZE(columns)];

	if (!aiq->efficiency)
		return aiq->running
		           ? err_set(err, EINVAL,
		                     "--running goes with --efficiency")
		           : 0;
	if (aiq->attempts || aiq->watch || aiq->file || aiq->limit >= 0 ||
	    aiq->after)
		return err_set(err, EINVAL,
		               "--efficiency goes with filters, --since, "
		               "--until, --tasks, --running, --sort, --top, "
		               "--format, --csv and --json only");
	if (aiq->csv && aiq->json)
		return err_set(err, EINVAL,
		               "--csv and --json exclude each other");
	if (aiq->since && aiq->until && aiq->since > aiq->until)
		return err_set(err, EINVAL, "--since is after --until");
	if (aiq->running && (aiq->states || aiq->since || aiq->until))
		return err_set(err, EINVAL,
		               "--running goes without --state, --since and "
		               "--until");
	if (aiq->sort && sheet_choose(columns, ARRAY_SIZE(columns),
	                              aiq->sort + (*aiq->sort == '-'),
	                              "--efficiency", chosen, 1, err) < 0)
		return err_wrap(err, "--sort");
	return sheet_choose(columns, ARRAY_SIZE(columns),
	                    aiq->format ? aiq->format : standard,
	                    "--efficiency", chosen, ARRAY_SIZE(chosen), err) < 0
	           ? -1
	           : 0;
}

/* --- sums -------------------------------------------------------------- */

/* Get a number of a job. Returns false if it is null or absent. */
static bool number_of(const json_t *job, const char *key, double *ret)
{
	const json_t *value = json_object_get(job, key);

	*ret = json_number_value(value);
	return json_is_number(value);
}

static struct group *new_group(struct groups *g, json_t *job, int64_t array)
{
	struct group *group = xcalloc(1, sizeof(*group));

	group->array = array;
	group->first = json_incref(job);
	group->mem = group->gpu_mem = -1;
	g->group = GROW(g->group, g->n, &g->cap);
	g->group[g->n++] = group;
	return group;
}

static struct group *group_of(struct groups *g, json_t *job)
{
	struct group *group;
	int64_t array;

	if (g->tasks || !show_int_of(job, "array_job_id", &array))
		return new_group(g, job, 0);
	group = map_find(&g->arrays, (uint64_t)array);
	if (!group) {
		group = new_group(g, job, array);
		map_set(&g->arrays, (uint64_t)array, group);
	}
	return group;
}

/* Add what is known about GPUs, also of running jobs. */
static void add_gpus(struct group *group, const json_t *job)
{
	double busy, known, held, mem, total;

	if (number_of(job, "held_gpu_seconds", &held))
		group->gpu_held += held;
	if (number_of(job, "gpu_busy_seconds", &busy) &&
	    number_of(job, "gpu_known_seconds", &known)) {
		group->gpu_busy += busy;
		group->gpu_known += known;
	}
	if (number_of(job, "gpu_mem_mib", &mem) &&
	    number_of(job, "gpu_mem_total_mib", &total) && total > 0 &&
	    mem / total > group->gpu_mem)
		group->gpu_mem = mem / total;
}

static void add_job(struct groups *g, json_t *job)
{
	const char *state = show_text_of(job, "state");
	struct group *group;
	double value, held, asked;

	if (!number_of(job, "start_time", &value))
		return; /* it never started */
	group = group_of(g, job);
	group->n++;
	group->completed +=
	    state && !strcmp(state, job_state_name(JOB_COMPLETED));
	number_of(job, "elapsed_ms", &value);
	group->elapsed += value / 1e3;
	number_of(job, "longest_ms", &value);
	group->longest += value / 1e3;
	if (!number_of(job, "time_limit", &value))
		group->limit = -1;
	else if (group->limit >= 0)
		group->limit += value;
	add_gpus(group, job);
	if (!number_of(job, "end_time", &value))
		return; /* only the use of GPUs is known while a job runs */
	if (number_of(job, "cpu_seconds", &value) &&
	    number_of(job, "held_cpu_seconds", &held)) {
		group->cpu_used += value;
		group->cpu_held += held;
	}
	asked = show_memory_of(job);
	if (number_of(job, "peak_mem_mib", &value) && asked > 0 &&
	    value / asked > group->mem)
		group->mem = value / asked;
}

/* --- rows -------------------------------------------------------------- */

static json_t *ratio(double part, double whole)
{
	return whole > 0 ? json_real(part / whole) : json_null();
}

static bool is_below(const json_t *row, const char *key, double bound)
{
	const json_t *value = json_object_get(row, key);

	return json_is_number(value) && json_number_value(value) < bound;
}

static json_t *hints_of(const json_t *row)
{
	static const struct {
		const char *hint, *key;
		double below;
	} rules[] = {
		{ "gpu-idle", "gpueff", 0.05 },
		{ "cpu-idle", "cpueff", 0.10 },
		{ "memory-over", "memeff", 0.25 },
		{ "limit-over", "timeeff", 0.10 },
	};
	const json_t *cpu = json_object_get(row, "cpueff");
	json_t *hints = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (is_below(row, rules[i].key, rules[i].below))
			json_array_append_new(hints,
			                      json_string(rules[i].hint));
	if (json_is_number(cpu) && json_number_value(cpu) >= 0.98 &&
	    is_below(row, "gpueff", 0.70))
		json_array_append_new(hints, json_string("cpu-short"));
	return hints;
}

static void add_text(struct buf *out, const json_t *job, const char *key)
{
	const char *text = show_text_of(job, key);

	buf_puts(out, text ? text : "?");
}

static json_t *row_of(const struct group *group)
{
	const json_t *job = group->first;
	bool gpus = group->gpu_known > 0 &&
	            group->gpu_known >= LEAST_KNOWN * group->gpu_held;
	struct buf id = { 0 }, state = { 0 };
	json_t *row;

	if (group->array) {
		buf_printf(&id, "%lld_[*]", (long long)group->array);
		buf_printf(&state, "%llu of %llu",
		           (unsigned long long)group->completed,
		           (unsigned long long)group->n);
	} else {
		add_text(&id, job, "display_id");
		add_text(&state, job, "state");
	}
	row = json_pack(
	    "{s:s, s:O, s:O, s:O, s:O, s:s, s:f, s:o, s:o, s:o, s:o, s:o}",
	    "jobid", id.data, "name", json_object_get(job, "name"), "user",
	    json_object_get(job, "user"), "account",
	    json_object_get(job, "account"), "queue",
	    json_object_get(job, "queue"), "state", state.data, "elapsed",
	    group->elapsed / (double)group->n, "timeeff",
	    ratio(group->longest, group->limit), "cpueff",
	    ratio(group->cpu_used, group->cpu_held), "memeff",
	    ratio(group->mem, group->mem >= 0), "gpueff",
	    ratio(group->gpu_busy, gpus ? group->gpu_known : 0), "gpumem",
	    ratio(group->gpu_mem, gpus && group->gpu_mem >= 0));
	json_object_set_new(row, "hint", hints_of(row));
	buf_free(&id);
	buf_free(&state);
	return row;
}

/* --- the request ------------------------------------------------------- */

static int take_part(const void *data, size_t len, void *arg)
{
	struct groups *g = arg;
	const char *at, *eol;

	buf_add(&g->text, data, len);
	at = g->text.data;
	while ((eol = memchr(at, '\n',
	                     g->text.len - (size_t)(at - g->text.data)))) {
		json_t *job = json_loadb(at, (size_t)(eol - at), 0, NULL);

		if (job)
			add_job(g, job);
		json_decref(job);
		at = eol + 1;
	}
	g->text.len -= (size_t)(at - g->text.data);
	memmove(g->text.data, at, g->text.len);
	return 0;
}

static json_t *request_of(const struct aiq *aiq)
{
	json_t *req = list_request(aiq, NULL), *names = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		json_array_append_new(names, json_string(fields[i]));
	json_object_set_new(req, "fields", names);
	/* --sort names a column of this report, not a field. */
	json_object_del(req, "sort");
	if (aiq->running) {
		json_object_del(req, "history");
		json_object_set_new(
		    req, "states", json_pack("[s, s]", "RUNNING", "SUSPENDED"));
	}
	return req;
}

static void print(const struct aiq *aiq, const json_t *rows)
{
	struct sheet_column column[2 * ARRAY_SIZE(columns)];
	int n = sheet_choose(columns, ARRAY_SIZE(columns),
	                     aiq->format ? aiq->format : standard,
	                     "--efficiency", column, ARRAY_SIZE(column), NULL);

	if (aiq->json) {
		fputs("{\"efficiency\":", stdout);
		json_out(rows, JSON_COMPACT, stdout);
		puts("}");
	} else if (aiq->csv) {
		sheet_csv(column, (size_t)n, rows, !aiq->no_header);
	} else {
		sheet_table(column, (size_t)n, rows, NULL, !aiq->no_header);
	}
}

static void groups_free(struct groups *g)
{
	for (size_t i = 0; i < g->n; i++) {
		json_decref(g->group[i]->first);
		free(g->group[i]);
	}
	free(g->group);
	map_free(&g->arrays);
	buf_free(&g->text);
}

int efficiency_print(const struct aiq *aiq, struct client *client,
                     struct err *err)
{
	struct groups g = { .tasks = aiq->tasks };
	json_t *req, *answer, *rows, *sorted;
	int rc = -1;

	if (filter_check_users(client, aiq->users, true, err) < 0)
		return -1;
	req = request_of(aiq);
	answer = client_call(client, req, NULL, 0, take_part, &g, err);
	json_decref(req);
	if (answer) {
		rows = json_array();
		for (size_t i = 0; i < g.n; i++)
			json_array_append_new(rows, row_of(g.group[i]));
		sorted = sheet_arrange(rows, aiq->sort, aiq->top);
		print(aiq, sorted);
		json_decref(sorted);
		json_decref(rows);
		rc = list_missing(aiq, answer, err);
	}
	json_decref(answer);
	groups_free(&g);
	return rc;
}
