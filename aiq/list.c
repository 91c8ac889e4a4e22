/* list.c - print rows of the daemon as tables, templates or JSON */
#include "aiq/list.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aiq/aiq.h"
#include "aiq/archive.h"
#include "aiq/columns.h"
#include "aiq/sheet.h"
#include "libcommon/buf.h"
#include "libcommon/clean.h"
#include "libcommon/client/filter_opt.h"
#include "libcommon/client/json_out.h"
#include "libcommon/client/table.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/names.h"
#include "libcommon/parse.h"

/* Formats rows of values separated by tabs. */
struct sink {
	const struct format *format;
	FILE *out; /* where to print */
	/* NULL: lines are printed by a template or as CSV. */
	struct table *table;
	bool csv;
	bool plain;          /* every column is shown as it was received */
	struct buf rest;     /* the beginning of an incomplete line */
	struct buf rows;     /* formatted */
	const char **header; /* headers of the table */
	char marked[64];     /* header of the sorted column, with its mark */
};

void put_clean(FILE *out, const char *s, size_t len)
{
	char *copy = xstrndup(s, len);

	fwrite(copy, 1, text_clean(copy, strlen(copy)), out);
	free(copy);
}

/* Whether every value has some text. Usually all do; then rows need not be
 * rewritten, which is faster for listings of 100,000 rows. */
static bool is_full(const char *data, size_t len)
{
	char last = '\n';

	for (size_t i = 0; i < len; i++) {
		char c = data[i];

		if ((c == '\t' || c == '\n') && (last == '\t' || last == '\n'))
			return false;
		last = c;
	}
	return true;
}

struct value {
	const char *s;
	size_t len;
};

/* Returns the next value of a line, an empty one if there is none, and moves
 * *at behind it. */
static struct value next_value(const char **at, const char *end)
{
	struct value value = { *at, 0 };
	const char *tab = memchr(*at, '\t', (size_t)(end - *at));

	value.len = (size_t)((tab ? tab : end) - *at);
	*at = tab ? tab + 1 : end;
	return value;
}

/* Returns a value as a number, 0 if it is empty. A tab or newline follows each
 * value, where strtod() stops. */
static double number(struct value value)
{
	return value.len ? strtod(value.s, NULL) : 0;
}

static void add_exit(struct buf *out, struct value code, struct value signal)
{
	if (signal.len && number(signal) > 0)
		buf_puts(out, signal_name((int)number(signal)));
	else
		buf_add(out, code.s, code.len);
}

/* Append the formatted value of a column whose fields are a and b, or "-" if it
 * is empty, so that a script can count columns. */
static void add_value(struct buf *out, enum show show, struct value a,
                      struct value b)
{
	size_t before = out->len;

	switch (show) {
	case SHOW_TEXT:
		buf_add(out, a.s, a.len);
		break;
	case SHOW_TIME:
		if (a.len || b.len)
			format_time(out, (int64_t)number(a.len ? a : b));
		break;
	case SHOW_SPAN:
		if (a.len)
			format_duration(out, (int64_t)number(a));
		break;
	case SHOW_MS:
		if (a.len)
			format_duration(out, (int64_t)number(a) / 1000);
		break;
	case SHOW_MIB:
		if (a.len)
			format_mib(out, (int64_t)number(a));
		break;
	case SHOW_RATIO:
		if (a.len)
			buf_printf(out, "%.0f %%", 100 * number(a));
		break;
	case SHOW_EXIT:
		add_exit(out, a, b);
		break;
	case SHOW_PRODUCT:
		if (a.len && b.len)
			buf_printf(out, "%.10g", number(a) * number(b));
		break;
	}
	if (out->len == before)
		buf_addc(out, '-');
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Undo the escapes of a value, with '?' for tabs, newlines and other
 * control characters. */
static void unescape(struct buf *value)
{
	size_t len = 0;

	for (size_t i = 0; i < value->len; i++) {
		char c = value->data[i];

		if (c == '\\' && i + 1 < value->len)
			c = value->data[++i] == '\\' ? '\\' : '?';
		value->data[len++] = c;
	}
	value->len = len ? text_clean(value->data, len) : 0;
}

/* Print a value in exactly the width of the template, cut off without an
 * ellipsis, as squeue does. */
static void put_field(FILE *out, const struct pick *pick, const char *s,
                      size_t len)
{
	size_t width = (size_t)pick->width, shown = 0, end = 0;
	int pad;

	while (end < len &&
	       (!width || shown < width || is_continuation(s[end])))
		shown += !is_continuation(s[end++]);
	pad = shown < width ? (int)(width - shown) : 0;
	if (pick->before)
		fputs(pick->before, out);
	fprintf(out, "%*s", pick->right ? pad : 0, "");
	fwrite(s, 1, end, out);
	fprintf(out, "%*s", pick->right ? 0 : pad, "");
}

/* Append the value of a column for CSV: as it was received, in seconds if it is
 * a time, or formatted if it combines two fields. */
static void add_raw(struct buf *out, enum show show, struct value a,
                    struct value b)
{
	if (show == SHOW_EXIT || (show == SHOW_PRODUCT && a.len && b.len))
		add_value(out, show, a, b);
	else if (show == SHOW_TIME && !a.len)
		buf_add(out, b.s, b.len);
	else if (show == SHOW_MS && a.len)
		buf_printf(out, "%.14g", number(a) / 1000);
	else if (show != SHOW_PRODUCT)
		buf_add(out, a.s, a.len);
}

static bool is_number(const char *s)
{
	char *end;

	strtod(s, &end);
	return end > s && !*end;
}

/* Print a line as CSV; values that are not known are empty. */
static void put_csv_line(struct sink *sink, const char *at, const char *end)
{
	const struct format *format = sink->format;
	struct buf line = { 0 };

	for (size_t i = 0; i < format->n; i++) {
		const struct column *column = format->pick[i].column;
		struct value a = next_value(&at, end), b = { "", 0 };

		if (column->field[1])
			b = next_value(&at, end);
		buf_clear(&sink->rows);
		buf_puts(&sink->rows, "");
		if (a.len || b.len)
			add_raw(&sink->rows, column->show, a, b);
		unescape(&sink->rows);
		buf_addc(&sink->rows, '\0');
		buf_puts(&line, i ? "," : "");
		if (is_number(sink->rows.data))
			buf_puts(&line, sink->rows.data);
		else
			sheet_put_text(&line, sink->rows.data);
	}
	fprintf(sink->out, "%s\r\n", line.data);
	buf_clear(&sink->rows);
	buf_free(&line);
}

static void add_line(struct sink *sink, const char *at, const char *end)
{
	const struct format *format = sink->format;

	for (size_t i = 0; i < format->n; i++) {
		const struct pick *pick = &format->pick[i];
		const struct column *column = pick->column;
		struct value a = next_value(&at, end), b = { "", 0 };

		if (column->field[1])
			b = next_value(&at, end);
		add_value(&sink->rows, column->show, a, b);
		if (sink->table) {
			buf_addc(&sink->rows, i + 1 < format->n ? '\t' : '\n');
			continue;
		}
		unescape(&sink->rows);
		put_field(sink->out, pick, sink->rows.data, sink->rows.len);
		buf_clear(&sink->rows);
	}
	if (sink->table)
		return;
	fprintf(sink->out, "%s\n", format->after);
}

static void add_lines(struct sink *sink, const char *data, size_t len)
{
	const char *end = data + len;

	if (sink->table && sink->plain && is_full(data, len)) {
		table_add_tsv(sink->table, data, len);
		return;
	}
	while (data < end) {
		const char *eol = memchr(data, '\n', (size_t)(end - data));

		if (sink->csv)
			put_csv_line(sink, data, eol);
		else
			add_line(sink, data, eol);
		data = eol + 1;
	}
	if (!sink->table)
		return;
	table_add_tsv(sink->table, sink->rows.data, sink->rows.len);
	buf_clear(&sink->rows);
}

/* Handle a part of an answer, which may end anywhere: format the complete lines
 * and keep the rest. */
static int add_part(const void *data, size_t len, void *arg)
{
	struct sink *sink = arg;
	const char *eol = memrchr(data, '\n', len);
	size_t whole = eol ? (size_t)(eol + 1 - (const char *)data) : 0;

	if (sink->rest.len || !whole) {
		buf_add(&sink->rest, data, whole);
		if (whole) {
			add_lines(sink, sink->rest.data, sink->rest.len);
			buf_clear(&sink->rest);
		}
	} else {
		add_lines(sink, data, whole);
	}
	buf_add(&sink->rest, (const char *)data + whole, len - whole);
	return 0;
}

struct json_sink {
	FILE *out;
	bool any;     /* a row was written */
	bool between; /* the last byte ended a row */
};

/* Print rows of JSON as they are, without parsing them: there may
 * be 100,000. */
static int put_json_part(const void *data, size_t len, void *arg)
{
	struct json_sink *sink = arg;
	const char *at = data, *end = at + len;

	while (at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		const char *stop = eol ? eol : end;

		if (sink->between && stop > at) {
			fputs(sink->any ? ",\n" : "\n", sink->out);
			sink->any = true;
			sink->between = false;
		}
		fwrite(at, 1, (size_t)(stop - at), sink->out);
		if (eol)
			sink->between = true;
		at = eol ? eol + 1 : end;
	}
	return 0;
}

static void set(json_t *req, const char *key, json_t *list)
{
	if (list)
		json_object_set(req, key, list);
}

json_t *list_request(const struct aiq *aiq, const struct format *format)
{
	json_t *req = json_pack("{s:s, s:s}", "op", aiq->view->op, "format",
	                        aiq->json || !format ? "json" : "tsv");
	bool attempts = aiq->view == &view_attempts;

	if (format && (!aiq->json || aiq->format))
		json_object_set_new(req, "fields",
		                    format_fields(format, aiq->json));
	if (attempts || !strcmp(aiq->view->op, "jobs") ||
	    !strcmp(aiq->view->op, "shares")) {
		set(req, "users", aiq->users);
		set(req, "queues", aiq->queues);
	}
	if (!attempts && strcmp(aiq->view->op, "jobs") != 0)
		return req;
	set(req, "states", aiq->states);
	set(req, "names", aiq->names);
	set(req, "nodes", aiq->nodes);
	set(req, "accounts", aiq->accounts);
	if (!attempts)
		set(req, "labels", aiq->labels);
	if (aiq->noperands) {
		json_t *ids = json_array();

		for (size_t i = 0; i < aiq->noperands; i++)
			json_array_append_new(ids,
			                      json_string(aiq->operand[i]));
		json_object_set_new(req, "ids", ids);
	}
	if (aiq->all)
		json_object_set_new(req, "all", json_true());
	if (aiq->history && !attempts)
		json_object_set_new(req, "history", json_true());
	if (aiq->cron)
		json_object_set_new(req, "cron", json_integer(aiq->cron));
	if (aiq->sort)
		json_object_set_new(req, "sort", json_string(aiq->sort));
	if (aiq->after)
		json_object_set_new(req, "after", json_string(aiq->after));
	if (aiq->limit >= 0 && aiq->json)
		json_object_set_new(req, "count", json_true());
	if (aiq->since)
		json_object_set_new(req, "since", json_integer(aiq->since));
	if (aiq->until)
		json_object_set_new(req, "until", json_integer(aiq->until));
	return req;
}

int list_missing(const struct aiq *aiq, const json_t *answer, struct err *err)
{
	const char *what =
	    aiq->attempts ? "no such job, or it never started" : "no such job";
	const json_t *missing = json_object_get(answer, "missing"), *id;
	struct buf text = { 0 };
	size_t i;

	if (!json_array_size(missing))
		return 0;
	json_array_foreach(missing, i, id) {
		buf_puts(&text, i ? ", " : "");
		if (json_is_string(id))
			buf_printf(&text, "'%s'", json_string_value(id));
		else
			buf_i64(&text, json_integer_value(id));
	}
	err_set(err, ENOENT, "%s: %s", what, text.data);
	buf_free(&text);
	return -1;
}

/*
 * Request all rows, in pages if they are sorted or limited, because the daemon
 * sorts at most LIMIT_PAGE rows for one request. Returns the last answer.
 */
static json_t *call_pages(const struct aiq *aiq, struct client *client,
                          json_t *req, client_part_fn *fn, void *sink,
                          struct err *err)
{
	int64_t left = aiq->limit < 0 ? INT64_MAX : aiq->limit;
	bool paged = aiq->sort || aiq->limit >= 0;
	const json_t *after;
	json_t *answer;

	if (aiq->file)
		return archive_rows(aiq, req, fn, sink, err);
	for (;;) {
		int64_t n = left < LIMIT_PAGE ? left : LIMIT_PAGE;

		if (paged)
			json_object_set_new(req, "limit", json_integer(n));
		answer = client_call(client, req, NULL, 0, fn, sink, err);
		after = json_object_get(answer, "after");
		left -= n;
		if (!paged || !json_is_string(after) || left <= 0)
			return answer;
		json_object_set(req, "after", (json_t *)(uintptr_t)after);
		json_decref(answer);
	}
}

/* Print how many jobs there are in all, and where the next page begins. */
static void print_page(const json_t *answer, FILE *out)
{
	const json_t *count = json_object_get(answer, "count");

	if (!count)
		return;
	fprintf(out, ",\"count\":%lld,\"after\":",
	        (long long)json_integer_value(count));
	json_out(json_object_get(answer, "after"), JSON_ENCODE_ANY, out);
}

static int print_json(const struct aiq *aiq, struct client *client, json_t *req,
                      FILE *out, struct err *err)
{
	struct json_sink sink = { .out = out, .between = true };
	json_t *answer;
	int rc;

	fprintf(out, "{\"%s\":[", aiq->view->op);
	answer = call_pages(aiq, client, req, put_json_part, &sink, err);
	if (!answer)
		return -1;
	fputs(sink.any ? "\n]" : "]", out);
	print_page(answer, out);
	fputs("}\n", out);
	rc = list_missing(aiq, answer, err);
	json_decref(answer);
	return rc;
}

#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define RED    "\033[31m"

/* Returns the escape sequence for a state of a job or node: green if it runs,
 * yellow if it is in transition, red if it has failed; NULL for none. */
static const char *state_colour(const char *value, size_t len)
{
	static const char *const colours[JOB_NSTATES] = {
		[JOB_RUNNING] = GREEN,     [JOB_CONFIGURING] = YELLOW,
		[JOB_COMPLETING] = YELLOW, [JOB_SUSPENDED] = YELLOW,
		[JOB_FAILED] = RED,        [JOB_TIMEOUT] = RED,
		[JOB_NODE_FAIL] = RED,     [JOB_OUT_OF_MEMORY] = RED,
		[JOB_DEADLINE] = RED,      [JOB_BOOT_FAIL] = RED,
	};
	char name[32];
	int state;

	snprintf(name, sizeof(name), "%.*s", (int)len, value);
	if (!strcmp(name, "DOWN")) /* of a node */
		return RED;
	if (!strcmp(name, "DRAINED") || !strcmp(name, "DRAINING"))
		return YELLOW;
	state = job_state_parse(name);
	return state < 0 ? NULL : colours[state];
}

static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR");

	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (!no || !*no) &&
	       (!term || strcmp(term, "dumb") != 0);
}

/* Returns the header of a column, with ^ or v behind it if the live view is
 * sorted by that column. */
static const char *header_of(struct sink *sink, const struct aiq *aiq,
                             const struct column *column)
{
	const char *field = column->field[0] ? column->field[0] : column->name;
	bool down = aiq->sort && *aiq->sort == '-';

	if (!aiq->watch || !aiq->sort || *sink->marked ||
	    strcmp(aiq->sort + down, field) != 0)
		return column->header;
	snprintf(sink->marked, sizeof(sink->marked), "%s%c", column->header,
	         down ? 'v' : '^');
	return sink->marked;
}

static void new_table(struct sink *sink, const struct aiq *aiq)
{
	const struct format *format = sink->format;
	bool *right = xcalloc(format->n, sizeof(*right));

	sink->header = xcalloc(format->n, sizeof(*sink->header));
	for (size_t i = 0; i < format->n; i++) {
		sink->header[i] = header_of(sink, aiq, format->pick[i].column);
		right[i] = format->pick[i].column->right;
	}
	sink->table = table_new(format->n, sink->header, right);
	for (size_t i = 0; wants_colour() && i < format->n; i++)
		if (!strncmp(format->pick[i].column->name, "state", 5))
			table_colour(sink->table, i, state_colour);
	free(right);
}

static void put_template_header(const struct format *format, FILE *out)
{
	for (size_t i = 0; i < format->n; i++) {
		const char *header = format->pick[i].column->header;

		put_field(out, &format->pick[i], header, strlen(header));
	}
	fprintf(out, "%s\n", format->after);
}

static bool is_plain(const struct format *format)
{
	for (size_t i = 0; i < format->n; i++)
		if (format->pick[i].column->show != SHOW_TEXT)
			return false;
	return true;
}

static void put_csv_header(const struct format *format, FILE *out)
{
	for (size_t i = 0; i < format->n; i++)
		fprintf(out, "%s%s", i ? "," : "",
		        format->pick[i].column->name);
	fputs("\r\n", out);
}

static void sink_begin(struct sink *sink, const struct aiq *aiq)
{
	sink->plain = is_plain(sink->format);
	sink->csv = aiq->csv;
	if (sink->csv && !aiq->no_header)
		put_csv_header(sink->format, sink->out);
	if (sink->csv)
		return;
	if (!sink->format->is_template)
		new_table(sink, aiq);
	else if (!aiq->no_header)
		put_template_header(sink->format, sink->out);
}

static void sink_end(struct sink *sink, const struct aiq *aiq, int width)
{
	if (sink->table)
		table_print(sink->table, sink->out, !aiq->no_header, width);
}

static void sink_free(struct sink *sink)
{
	table_free(sink->table);
	free(sink->header);
	buf_free(&sink->rest);
	buf_free(&sink->rows);
}

void list_text(const struct aiq *aiq, const struct format *format,
               const char *rows, size_t len, FILE *out)
{
	struct sink sink = { .format = format, .out = out };

	sink_begin(&sink, aiq);
	add_part(rows, len, &sink);
	sink_end(&sink, aiq, 0);
	sink_free(&sink);
}

static int print_text(const struct aiq *aiq, struct client *client,
                      const struct format *format, json_t *req, FILE *out,
                      int width, struct err *err)
{
	struct sink sink = { .format = format, .out = out };
	json_t *answer;
	int rc = -1;

	sink_begin(&sink, aiq);
	answer = call_pages(aiq, client, req, add_part, &sink, err);
	if (answer) {
		sink_end(&sink, aiq, width);
		rc = list_missing(aiq, answer, err);
	}
	json_decref(answer);
	sink_free(&sink);
	return rc;
}

int list_print(const struct aiq *aiq, struct client *client,
               const struct format *format, FILE *out, int width,
               struct err *err)
{
	json_t *req;
	int rc;

	if (client && filter_check_users(client, aiq->users,
	                                 aiq->history || aiq->states ||
	                                     aiq->view == &view_shares,
	                                 err) < 0)
		return -1;
	req = list_request(aiq, format);
	rc = aiq->json ? print_json(aiq, client, req, out, err)
	               : print_text(aiq, client, format, req, out, width, err);

	json_decref(req);
	return rc;
}
