/* report.c - resource usage by user, queue, month ... as a table, CSV
 * or JSON */
#include "aiq/report.h"

#include <string.h>

#include "aiq/sheet.h"
#include "libcommon/client/json_out.h"
#include "libcommon/mem.h"
#include "libcommon/report_fields.h"

static const struct sheet_column fields[] = {
#define X(name, places, header, show) { #name, header, SHEET_##show, places },
	REPORT_FIELDS(X)
#undef X
};

/* Columns of a report by pool. */
static const struct sheet_column pool_fields[] = {
#define X(name, places, header, show) { #name, header, SHEET_##show, places },
	CAPACITY_FIELDS(X)
#undef X
};

static const struct {
	const char *name, *header;
} keys[] = {
	{ "user", "USER" },         { "group", "GROUP" },
	{ "account", "ACCOUNT" },   { "queue", "QUEUE" },
	{ "class", "CLASS" },       { "pool", "POOL" },
	{ "gpu_type", "GPU_TYPE" }, { "hour", "HOUR" },
	{ "day", "DAY" },           { "week", "WEEK" },
	{ "month", "MONTH" },
};

static const char standard[] =
    "jobs,cpu_hours,gpu_hours,cpueff,gpueff,idle_gpu_hours,evicted_gpu_hours,"
    "wait_p50,wait_p95,cost";

static const char pool_standard[] =
    "offered_hours,allocated,busy,reserved,drained,down,idle";

struct view_of {
	struct sheet_column column[ARRAY_SIZE(keys) + ARRAY_SIZE(fields) * 2];
	size_t n;
	json_t *rows, *total;
	struct buf text; /* incomplete line of the rows being received */
};

/* --- choose columns ---------------------------------------------------- */

static bool is_key(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strlen(keys[i].name) == len &&
		    !strncmp(name, keys[i].name, len))
			return true;
	return false;
}

static int no_key(const char *name, size_t len, struct err *err)
{
	struct buf all = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		buf_printf(&all, "%s%s", i ? ", " : "", keys[i].name);
	err_set(err, EINVAL, "--by: no report is by '%.*s': use %s or total",
	        (int)len, name, all.data);
	buf_free(&all);
	return -1;
}

/* Returns the header of a key's column. */
static const char *header_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, key))
			return keys[i].header;
	return key;
}

static int report_keys(const char *by, json_t **ret, struct err *err)
{
	const char *word;
	bool total = false;
	size_t len;

	*ret = json_array();
	while (*by) {
		word = sheet_word(&by, &len);
		if (len == 5 && !strncmp(word, "total", 5)) {
			total = true;
			continue;
		}
		if (!is_key(word, len))
			return no_key(word, len, err);
		for (size_t i = 0; i < json_array_size(*ret); i++) {
			const char *was =
			    json_string_value(json_array_get(*ret, i));

			if (strlen(was) == len && !strncmp(was, word, len))
				return err_set(err, EINVAL,
				               "--by: '%s' is given twice",
				               was);
		}
		json_array_append_new(*ret, json_stringn(word, len));
	}
	if (total && json_array_size(*ret))
		return err_set(err, EINVAL,
		               "--by: total goes with no other key");
	return 0;
}

static bool is_by_pool(const json_t *by)
{
	const json_t *key;
	size_t i;

	json_array_foreach(by, i, key)
		if (!strcmp(json_string_value(key), "pool"))
			return true;
	return false;
}

/* Choose the columns that -o names. A report by pool has other columns than all
 * other reports. */
static int choose(const json_t *by, const char *list, struct sheet_column *ret,
                  size_t most, struct err *err)
{
	if (is_by_pool(by))
		return sheet_choose(pool_fields, ARRAY_SIZE(pool_fields),
		                    list ? list : pool_standard,
		                    "a report by pool", ret, most, err);
	return sheet_choose(fields, ARRAY_SIZE(fields), list ? list : standard,
	                    "a report", ret, most, err);
}

static int take_columns(struct view_of *v, const json_t *by, const char *format,
                        struct err *err)
{
	const json_t *key;
	size_t i;
	int n;

	json_array_foreach(by, i, key) {
		const char *name = json_string_value(key);

		v->column[v->n++] =
		    (struct sheet_column){ name, header_of(name), SHEET_TEXT,
			                   0 };
	}
	if (is_by_pool(by))
		v->column[v->n++] =
		    (struct sheet_column){ "resource", "RESOURCE", SHEET_TEXT,
			                   0 };
	n = choose(by, format, &v->column[v->n], ARRAY_SIZE(v->column) - v->n,
	           err);
	if (n < 0)
		return -1;
	v->n += (size_t)n;
	return 0;
}

int report_check(const struct aiq *aiq, struct err *err)
{
	struct view_of v = { .n = 0 };
	struct sheet_column one;
	json_t *by = NULL;
	int result = report_keys(aiq->by ? aiq->by : "user", &by, err);
	const char *sort = aiq->sort;

	if (result == 0 && is_by_pool(by) &&
	    (json_array_size(by) > 1 || aiq->users || aiq->queues ||
	     aiq->accounts || aiq->classes))
		result = err_set(err, EINVAL,
		                 "--by pool goes with no other key, and no "
		                 "filter but --pool");
	if (result == 0)
		result = take_columns(&v, by, aiq->format, err);
	if (result == 0 && sort) {
		sort += *sort == '-';
		if (!is_key(sort, strlen(sort)) &&
		    choose(by, sort, &one, 1, err) < 0)
			result = err_wrap(err, "--sort");
	}
	json_decref(by);
	return result;
}

/* --- the request ------------------------------------------------------- */

static int keep_part(const void *data, size_t len, void *arg)
{
	struct view_of *v = arg;

	memcpy(buf_room(&v->text, len), data, len);
	buf_grew(&v->text, len);
	return 0;
}

static void parse_rows(struct view_of *v)
{
	v->rows = json_array();
	for (size_t at = 0; at < v->text.len;) {
		const char *line = v->text.data + at;
		const char *end = memchr(line, '\n', v->text.len - at);
		size_t len = end ? (size_t)(end - line) : v->text.len - at;

		json_array_append_new(v->rows, json_loadb(line, len, 0, NULL));
		at += len + 1;
	}
}

static json_t *request(const struct aiq *aiq, json_t *by)
{
	json_t *req = json_pack(
	    "{s:s, s:O, s:O*, s:O*, s:O*, s:O*, s:O*}", "op", "report", "by",
	    by, "users", aiq->users, "queues", aiq->queues, "accounts",
	    aiq->accounts, "pools", aiq->pools, "classes", aiq->classes);

	if (aiq->since)
		json_object_set_new(req, "since", json_integer(aiq->since));
	if (aiq->until)
		json_object_set_new(req, "until", json_integer(aiq->until));
	return req;
}

static void print(struct view_of *v, const struct aiq *aiq, json_t *answer)
{
	if (aiq->json) {
		json_object_del(answer, "rows");
		json_object_set(answer, "report", v->rows);
		json_out(answer, JSON_COMPACT, stdout);
		putchar('\n');
	} else if (aiq->csv) {
		sheet_csv(v->column, v->n, v->rows, !aiq->no_header);
	} else {
		sheet_table(v->column, v->n, v->rows,
		            v->column[0].show == SHEET_TEXT &&
		                    !json_is_null(v->total)
		                ? v->total
		                : NULL,
		            !aiq->no_header);
	}
}

int report_print(const struct aiq *aiq, struct client *client, struct err *err)
{
	struct view_of v = { .n = 0 };
	json_t *by = NULL, *req, *answer = NULL, *sorted;

	if (report_keys(aiq->by ? aiq->by : "user", &by, err) == 0 &&
	    take_columns(&v, by, aiq->format, err) == 0) {
		req = request(aiq, by);
		answer = client_call(client, req, NULL, 0, keep_part, &v, err);
		json_decref(req);
	}
	if (answer) {
		v.total = json_object_get(answer, "total");
		parse_rows(&v);
		sorted = sheet_arrange(v.rows, aiq->sort, aiq->top);
		json_decref(v.rows);
		v.rows = sorted;
		if (!json_array_size(by)) { /* by total */
			json_array_clear(v.rows);
			json_array_append(v.rows, v.total);
		}
		print(&v, aiq, answer);
	}
	json_decref(v.rows);
	json_decref(answer);
	json_decref(by);
	buf_free(&v.text);
	return answer ? 0 : -1;
}
