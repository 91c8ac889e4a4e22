/* live.c - the rows of a live view, and the requests for them */
#include "aiq/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aiq/columns.h"
#include "aiq/list.h"
#include "libcommon/client/filter_opt.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

/* Number of values at the start of each received row that are stored in struct
 * live_row and not shown; the values of the columns follow. */
enum { HIDDEN = 3 };

const char *const live_tabs[TABS] = { "jobs",   "queues", "nodes",
	                              "shares", "cron",   "history" };

static const struct {
	const struct view *view;
	const char *hidden[HIDDEN];
} tabs[TABS] = {
	{ &view_jobs, { "job_id", NULL, "display_id" } },
	{ &view_queues, { "name", "name", "name" } },
	{ &view_nodes, { "name", "pool", "name" } },
	{ &view_shares, { "queue", "user", "queue" } },
	{ &view_crons, { "cron_id", "cron_id", "cron_id" } },
	{ &view_history, { "job_id", NULL, "display_id" } },
};

/* Whether rows are requested in windows: only those of jobs are. */
static bool is_paged(const struct live *live)
{
	return !tabs[live->tab].hidden[1];
}

static const char *order(const struct live *live)
{
	if (live->aiq.sort)
		return live->aiq.sort;
	return live->aiq.history ? "-end_time" : "job_id";
}

/* --- requests ------------------------------------------------------------- */

static json_t *hidden_fields(const struct live *live)
{
	json_t *fields = json_array(), *shown;

	for (size_t i = 0; i < HIDDEN; i++) {
		const char *name = tabs[live->tab].hidden[i];

		if (!name)
			name = order(live) + (*order(live) == '-');
		json_array_append_new(fields, json_string(name));
	}
	shown = format_fields(&live->format, false);
	json_array_extend(fields, shown);
	json_decref(shown);
	return fields;
}

static json_t *rows_request(const struct live *live, const char *after,
                            bool back, size_t limit)
{
	json_t *req;

	if (live->aiq.view == &view_crons)
		return json_pack("{s:s, s:b}", "op", "crons", "all",
		                 live->aiq.all);
	req = list_request(&live->aiq, &live->format);
	json_object_set_new(req, "fields", hidden_fields(live));
	if (!is_paged(live))
		return req;
	json_object_set_new(req, "sort", json_string(order(live)));
	json_object_set_new(req, "limit", json_integer((json_int_t)limit));
	json_object_set_new(req, "count", json_true());
	if (after)
		json_object_set_new(req, "after", json_string(after));
	if (back)
		json_object_set_new(req, "back", json_true());
	return req;
}

static char *place_of(const struct live_row *row)
{
	return xasprintf("%s:%s", row->id, row->key);
}

static json_t *request_of(const struct live *live, enum live_stage stage)
{
	switch (stage) {
	case STAGE_IDLE:
		break;
	case STAGE_STATUS:
		return json_pack("{s:s}", "op", "status");
	case STAGE_METRICS:
		return json_pack("{s:s}", "op", "metrics");
	case STAGE_ROWS:
		return rows_request(live, live->base, false, 3 * live->span);
	case STAGE_BASE:
		return rows_request(live, live->seek_after, true,
		                    2 * live->span);
	case STAGE_SEEK:
		return rows_request(live, live->seek_after, live->sought_back,
		                    LIMIT_PAGE);
	case STAGE_QUEUES:
		return json_pack("{s:s, s:s, s:[s]}", "op", "queues", "format",
		                 "tsv", "fields", "name");
	}
	return NULL;
}

static void hang_up(struct live *live, const struct err *why)
{
	client_close(live->client);
	live->client = NULL;
	live->stage = live->next = STAGE_IDLE;
	live->lost = true;
	snprintf(live->message, sizeof(live->message), "%s", why->text);
}

static int dial(struct live *live, struct err *err)
{
	if (live->client)
		return 0;
	live->client = client_open(live->aiq.socket, err);
	if (!live->client)
		return -1;
	return filter_check_users(live->client, live->aiq.users,
	                          live->aiq.history || live->aiq.states, err);
}

static void ask(struct live *live, enum live_stage stage)
{
	json_t *req;
	struct err err;

	if (live->stage != STAGE_IDLE) {
		live->next = stage;
		return;
	}
	buf_clear(&live->raw);
	if (dial(live, &err) < 0) {
		hang_up(live, &err);
		return;
	}
	req = request_of(live, stage);
	live->stage = stage;
	live->stale = false;
	live->asked_ms = clock_ms();
	if (client_send(live->client, req, NULL, 0, &err) < 0)
		hang_up(live, &err);
	json_decref(req);
}

void live_round(struct live *live)
{
	if (live->stage == STAGE_IDLE)
		ask(live, STAGE_STATUS);
}

/* --- rows ----------------------------------------------------------------- */

static void free_rows(struct live *live)
{
	for (size_t i = 0; i < live->n; i++) {
		free(live->row[i].id);
		free(live->row[i].key);
		free(live->row[i].name);
	}
	free(live->row);
	live->row = NULL;
	live->n = 0;
}

/* Returns the next value of a line, with its escapes undone, and moves *at
 * behind it. The caller frees it. */
static char *take_value(const char **at, const char *end)
{
	struct buf value = { 0 };
	const char *s = *at;

	for (; s < end && *s != '\t'; s++) {
		char c = *s;

		if (c == '\\' && s + 1 < end)
			c = *++s == 't' ? '\t' : *s == 'n' ? '\n' : *s;
		buf_addc(&value, c);
	}
	*at = s < end ? s + 1 : end;
	return buf_take(&value);
}

static struct live_row take_row(const char **at, const char *end)
{
	struct live_row row;

	row.id = take_value(at, end);
	row.key = take_value(at, end);
	row.name = take_value(at, end);
	return row;
}

static void free_row(struct live_row *row)
{
	free(row->id);
	free(row->key);
	free(row->name);
}

static void add_escaped(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\t' || *s == '\n' || *s == '\\')
			buf_addc(out, '\\');
		buf_addc(out, *s == '\t' ? 't' : *s == '\n' ? 'n' : *s);
	}
}

/* Turn cron entries, which come as lines of JSON, into rows of values separated
 * by tabs. */
static void cron_rows(struct live *live)
{
	struct buf rows = { 0 };
	const char *at = live->raw.data, *line;
	size_t len;

	while ((line = text_line(&at, &len))) {
		json_t *entry = json_loadb(line, len, 0, NULL);
		json_t *fields = hidden_fields(live), *field;
		size_t i;

		json_array_foreach(fields, i, field) {
			const json_t *value =
			    json_object_get(entry, json_string_value(field));

			buf_puts(&rows, i ? "\t" : "");
			if (json_is_integer(value))
				buf_i64(&rows, json_integer_value(value));
			else if (json_is_string(value))
				add_escaped(&rows, json_string_value(value));
		}
		buf_addc(&rows, '\n');
		json_decref(fields);
		json_decref(entry);
	}
	buf_free(&live->raw);
	live->raw = rows;
}

/* Split the rows: put their ids in live->row, and the values of the columns in
 * rest, as lines of values separated by tabs. */
static void read_rows(struct live *live, struct buf *rest)
{
	size_t cap = 0;
	const char *at = live->raw.data, *line;
	size_t len;

	free_rows(live);
	while ((line = text_line(&at, &len))) {
		const char *end = line + len;

		live->row = GROW(live->row, live->n, &cap);
		live->row[live->n++] = take_row(&line, end);
		buf_add(rest, line, (size_t)(end - line));
		buf_addc(rest, '\n');
	}
}

static void make_lines(struct live *live, const struct buf *rest)
{
	char *text = NULL, *at;
	size_t len = 0, n = live->n + 1;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	list_text(&live->aiq, &live->format, rest->len ? rest->data : "",
	          rest->len, out);
	fclose(out);
	free(live->text);
	free(live->line);
	live->text = at = text;
	live->line = xcalloc(n, sizeof(*live->line));
	for (size_t i = 0; i < n; i++) {
		live->line[i] = at;
		at += strcspn(at, "\n");
		if (*at)
			*at++ = '\0';
	}
}

static size_t find_row(const struct live *live, const char *id, const char *key)
{
	for (size_t i = 0; id && i < live->n; i++)
		if (!strcmp(live->row[i].id, id) &&
		    (!key || !strcmp(live->row[i].key, key)))
			return i;
	return live->n;
}

static void place_cursor(struct live *live, const char *id, const char *key)
{
	size_t found = live->n;

	if (live->go == GO_ID)
		found = find_row(live, live->go_id, NULL);
	else if (live->go == GO_KEEP)
		found = find_row(live, id, is_paged(live) ? NULL : key);
	if (found < live->n)
		live->at = found;
	if (live->go == GO_FIRST)
		live->at = 0;
	if (live->go == GO_LAST || live->at >= live->n)
		live->at = live->n ? live->n - 1 : 0;
	live->go = GO_KEEP;
}

static void on_rows(struct live *live, const json_t *answer)
{
	char *id = NULL, *key = NULL;
	struct buf rest = { 0 };
	long owed;

	if (live->at < live->n) {
		id = xstrdup(live->row[live->at].id);
		key = xstrdup(live->row[live->at].key);
	}
	if (live->aiq.view == &view_crons)
		cron_rows(live);
	read_rows(live, &rest);
	make_lines(live, &rest);
	buf_free(&rest);
	live->more = json_is_string(json_object_get(answer, "after"));
	live->count = (int64_t)live->n;
	if (json_object_get(answer, "count"))
		live->count =
		    json_integer_value(json_object_get(answer, "count"));
	place_cursor(live, id, key);
	free(id);
	free(key);
	owed = live->owed;
	live->owed = 0;
	if (owed)
		live_move(live, owed);
	/* If there are rows, but none behind the place where the window begins,
	 * begin at the first row. */
	if (!live->n && live->base && live->count) {
		free(live->base);
		live->base = NULL;
		live->next = STAGE_ROWS;
	}
}

/* Move the window to 2 screens before the row that was found; the answer has
 * the place where the window then begins. */
static void on_base(struct live *live, const json_t *answer)
{
	const char *after = json_string_value(json_object_get(answer, "after"));

	free(live->base);
	live->base = after ? xstrdup(after) : NULL;
	live->next = STAGE_ROWS;
}

static void set_after(struct live *live, char *place)
{
	free(live->seek_after);
	live->seek_after = place;
}

/* --- search --------------------------------------------------------------- */

static void found(struct live *live, const struct live_row *row)
{
	free(live->go_id);
	live->go_id = xstrdup(row->id);
	live->go = GO_ID;
	*live->message = '\0';
	set_after(live, place_of(row));
	live->next = STAGE_BASE;
}

static void on_seek(struct live *live, const json_t *answer)
{
	const char *after = json_string_value(json_object_get(answer, "after"));
	const char *at = live->raw.data, *line;
	size_t len;

	while ((line = text_line(&at, &len))) {
		const char *end = line + len;
		struct live_row row = take_row(&line, end);
		char *rest = xstrndup(line, (size_t)(end - line));
		bool has = strcasestr(rest, live->sought) != NULL;

		if (has)
			found(live, &row);
		free(rest);
		free_row(&row);
		if (has)
			return;
	}
	if (!after && live->wrapped) {
		snprintf(live->message, sizeof(live->message),
		         "not found: %.100s", live->sought);
		return;
	}
	if (!after)
		live->wrapped = true;
	set_after(live, after ? xstrdup(after) : NULL);
	live->next = STAGE_SEEK;
}

/* Search the rows of the window, which has all rows. */
static void find_here(struct live *live, bool back)
{
	for (size_t i = 1; i <= live->n; i++) {
		size_t row = (live->at + (back ? live->n - i : i)) % live->n;

		if (!strcasestr(live->line[row + 1], live->sought))
			continue;
		live->at = row;
		*live->message = '\0';
		return;
	}
	snprintf(live->message, sizeof(live->message), "not found: %.100s",
	         live->sought);
}

void live_find(struct live *live, const char *text, bool back)
{
	if (text) {
		free(live->sought);
		live->sought = *text ? xstrdup(text) : NULL;
	}
	if (!live->sought || !live->n)
		return;
	if (!is_paged(live)) {
		find_here(live, back);
		return;
	}
	live->sought_back = back;
	live->wrapped = false;
	set_after(live, place_of(&live->row[live->at]));
	live->stale = true; /* ignore the answer to an earlier search */
	ask(live, STAGE_SEEK);
}

/* --- answers -------------------------------------------------------------- */

static void queue_turn(struct live *live);

static void on_queues(struct live *live)
{
	const char *at = live->raw.data, *line;
	size_t cap = 0, len;

	while ((line = text_line(&at, &len))) {
		const char *end = line + len;

		live->queue = GROW(live->queue, live->nqueues, &cap);
		live->queue[live->nqueues++] = take_value(&line, end);
	}
	live->queue_at = live->nqueues;
	queue_turn(live);
}

static int add_raw(const void *data, size_t len, void *arg)
{
	buf_add(arg, data, len);
	return 0;
}

static void take(struct live *live, enum live_stage stage, const json_t *answer)
{
	switch (stage) {
	case STAGE_IDLE:
		break;
	case STAGE_STATUS:
		head_take_status(&live->head, answer);
		break;
	case STAGE_METRICS:
		head_take_metrics(&live->head, live->raw.data, live->raw.len);
		break;
	case STAGE_ROWS:
		on_rows(live, answer);
		break;
	case STAGE_BASE:
		on_base(live, answer);
		break;
	case STAGE_SEEK:
		on_seek(live, answer);
		break;
	case STAGE_QUEUES:
		on_queues(live);
		break;
	}
}

void live_answer(struct live *live)
{
	static const enum live_stage then[] = {
		[STAGE_STATUS] = STAGE_METRICS,
		[STAGE_METRICS] = STAGE_ROWS,
		[STAGE_QUEUES] = STAGE_IDLE,
	};
	enum live_stage stage = live->stage, next;
	struct err err;
	json_t *answer = client_recv(live->client, add_raw, &live->raw, &err);

	if (!answer) {
		hang_up(live, &err);
		return;
	}
	if (live->lost)
		*live->message = '\0';
	live->lost = false;
	live->stage = STAGE_IDLE;
	if (!live->stale || stage < STAGE_ROWS)
		take(live, stage, answer);
	json_decref(answer);
	next = live->next != STAGE_IDLE ? live->next : then[stage];
	live->next = STAGE_IDLE;
	if (next != STAGE_IDLE)
		ask(live, next);
}

/* --- keys ----------------------------------------------------------------- */

/* Request the rows from the first one on, after a change of what is listed. */
static void begin_again(struct live *live)
{
	free(live->base);
	live->base = NULL;
	live->go = GO_FIRST;
	live->owed = 0;
	live->stale = true;
	ask(live, STAGE_ROWS);
}

static void set_sort(struct live *live, char *sort)
{
	free((char *)(uintptr_t)live->aiq.sort);
	live->aiq.sort = sort;
}

void live_tab(struct live *live, size_t tab)
{
	live->tab = tab % TABS;
	live->aiq.view = tabs[live->tab].view;
	live->aiq.history = live->aiq.view == &view_history;
	set_sort(live, NULL);
	format_free(&live->format);
	format_parse(&live->format, live->aiq.view, NULL, NULL);
	free_rows(live);
	begin_again(live);
}

void live_move(struct live *live, long by)
{
	long to = (long)live->at + by, last = (long)live->n - 1;

	if (!live->n)
		return;
	live->at = (size_t)(to < 0 ? 0 : to > last ? last : to);
	if ((to > last && live->more) || (to < 0 && live->base))
		live->owed += to < 0 ? to : to - last;
	if (by > 0 && live->more && live->at + live->span > live->n &&
	    live->at > live->span) {
		free(live->base);
		live->base = place_of(&live->row[live->at - live->span]);
		ask(live, STAGE_ROWS);
	} else if (by < 0 && live->base && live->at < live->span) {
		set_after(live, place_of(&live->row[live->at]));
		ask(live, STAGE_BASE);
	}
}

void live_end(struct live *live, bool last)
{
	if (!last) {
		begin_again(live);
		return;
	}
	live->go = GO_LAST;
	live->owed = 0;
	live->stale = true;
	set_after(live, NULL);
	ask(live, is_paged(live) ? STAGE_BASE : STAGE_ROWS);
}

static const char *sort_field(const struct column *column)
{
	return column->field[0] ? column->field[0] : column->name;
}

/* Returns the index of the column by which rows are sorted; format.n if it is
 * not shown. */
static size_t sort_at(const struct live *live)
{
	const char *now = order(live) + (*order(live) == '-');
	size_t i = 0;

	while (i < live->format.n &&
	       strcmp(now, sort_field(live->format.pick[i].column)) != 0)
		i++;
	return i;
}

void live_sort(struct live *live, bool turn)
{
	size_t n = live->format.n, at = sort_at(live);
	bool down = *order(live) == '-';

	if (!is_paged(live) || !n) {
		snprintf(live->message, sizeof(live->message),
		         "only jobs can be sorted");
		return;
	}
	if (turn) {
		set_sort(live, xasprintf("%s%s", down ? "" : "-",
		                         order(live) + down));
	} else {
		do
			at = at >= n ? 0 : (at + 1) % n;
		while (live->format.pick[at].column->show == SHOW_PRODUCT);
		set_sort(live,
		         xstrdup(sort_field(live->format.pick[at].column)));
	}
	begin_again(live);
}

void live_all(struct live *live)
{
	live->aiq.all = !live->aiq.all;
	begin_again(live);
}

/* Choose the previous or next queue; behind the last comes "all queues". */
static void queue_turn(struct live *live)
{
	size_t n = live->nqueues + 1;

	live->queue_at =
	    (live->queue_at + n + (live->queue_step < 0 ? n - 1 : 1)) % n;
	json_decref(live->aiq.queues);
	live->aiq.queues = NULL;
	if (live->queue_at < live->nqueues)
		live->aiq.queues =
		    json_pack("[s]", live->queue[live->queue_at]);
	begin_again(live);
}

void live_queue(struct live *live, int step)
{
	live->queue_step = step;
	if (!live->queue)
		ask(live, STAGE_QUEUES);
	else
		queue_turn(live);
}

/* Returns a job's id in the form that commands take: that of "12_[3-9%2]"
 * is "12_[3-9]". */
static char *id_of(const char *name)
{
	char *id = xstrdup(name), *percent = strchr(id, '%');

	if (percent) {
		percent[0] = ']';
		percent[1] = '\0';
	}
	return id;
}

void live_act(struct live *live, const char *action, const char *name)
{
	struct err err = { 0 };
	struct client *client;
	json_t *req, *answer = NULL;
	const json_t *failed;
	const char *text;
	char *id = id_of(name);

	req = strcmp(action, "cancel") != 0
	          ? json_pack("{s:s, s:s, s:[s]}", "op", "control", "action",
	                      action, "ids", id)
	          : json_pack("{s:s, s:[s], s:i}", "op", "cancel", "ids", id,
	                      "signal", 0);
	client = client_open(live->aiq.socket, &err);
	if (client)
		answer = client_call(client, req, NULL, 0, NULL, NULL, &err);
	failed = json_array_get(json_object_get(answer, "failed"), 0);
	text = json_string_value(json_object_get(failed, "text"));
	snprintf(live->message, sizeof(live->message), "%.20s %.60s: %s",
	         action, id,
	         !answer ? err.text
	         : text  ? text
	                 : "done");
	json_decref(answer);
	json_decref(req);
	client_close(client);
	free(id);
	live_round(live);
}

/* --- beginning and end ---------------------------------------------------- */

void live_init(struct live *live, const struct aiq *aiq)
{
	*live = (struct live){ .aiq = *aiq, .span = 100 };
	if (aiq->sort)
		live->aiq.sort = xstrdup(aiq->sort);
	json_incref(live->aiq.queues);
	live->aiq.no_header = false;
	for (size_t i = 0; i < TABS; i++)
		if (tabs[i].view == aiq->view)
			live->tab = i;
	format_parse(&live->format, aiq->view, aiq->format, NULL);
}

void live_free(struct live *live)
{
	client_close(live->client);
	free_rows(live);
	format_free(&live->format);
	set_sort(live, NULL);
	json_decref(live->aiq.queues);
	buf_free(&live->raw);
	free(live->base);
	free(live->text);
	free(live->line);
	free(live->go_id);
	free(live->sought);
	free(live->seek_after);
	for (size_t i = 0; i < live->nqueues; i++)
		free(live->queue[i]);
	free(live->queue);
	head_free(&live->head);
}
