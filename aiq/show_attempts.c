/* show_attempts.c - show when and where each attempt of a job ran */
#include "aiq/show_attempts.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/names.h"
#include "libcommon/parse.h"

enum { SHOWN = 10 };

struct attempts {
	json_t *row[SHOWN]; /* the last rows; row n is in place n % SHOWN */
	uint64_t n;
	struct buf rest; /* the begin of a row that has not arrived whole */
};

static void take_row(struct attempts *a, const char *row, size_t len)
{
	json_t **place = &a->row[a->n++ % SHOWN];

	json_decref(*place);
	*place = json_loadb(row, len, 0, NULL);
}

static int take_part(const void *data, size_t len, void *arg)
{
	struct attempts *a = arg;
	const char *at = data, *end = at + len, *eol;

	while (at < end && (eol = memchr(at, '\n', (size_t)(end - at)))) {
		buf_add(&a->rest, at, (size_t)(eol - at));
		take_row(a, a->rest.data, a->rest.len);
		buf_clear(&a->rest);
		at = eol + 1;
	}
	buf_add(&a->rest, at, (size_t)(end - at));
	return 0;
}

static void add_share(struct buf *out, const json_t *row, const char *key,
                      const char *noun)
{
	const json_t *value = json_object_get(row, key);

	if (json_is_number(value))
		buf_printf(out, "; %s %.0f %%", noun,
		           100 * json_number_value(value));
}

/* Append "REQUEUED, ended by SIGTERM, evicted (reclaim) for job 15". */
static void add_end(struct buf *out, const json_t *row)
{
	const char *state = show_text_of(row, "state");
	const char *why = show_text_of(row, "reason");
	const char *evicted = show_text_of(row, "evicted");
	int64_t n;

	buf_puts(out, state ? state : "?");
	if (show_int_of(row, "signal", &n) && n > 0)
		buf_printf(out, ", ended by SIG%s", signal_name((int)n));
	else if (show_int_of(row, "exit_code", &n) && n > 0)
		buf_printf(out, ", exit status %lld", (long long)n);
	if (evicted && state &&
	    (!strcmp(state, "REQUEUED") ||
	     !strcmp(state, job_state_name(JOB_PREEMPTED)))) {
		buf_printf(out, ", evicted (%s)", evicted);
		if (show_int_of(row, "evicted_by", &n))
			buf_printf(out, " for job %lld", (long long)n);
	} else if (why && strcmp(why, reason_name(WHY_None)) != 0) {
		buf_printf(out, ", %s", why);
	}
}

static void show_row(const json_t *row)
{
	const char *nodes = show_text_of(row, "nodelist");
	struct buf text = { 0 };
	int64_t n, ran;
	char label[32];

	show_int_of(row, "attempt", &n);
	snprintf(label, sizeof(label), "attempt %lld", (long long)n);
	add_end(&text, row);
	if (show_int_of(row, "start_time", &n)) {
		buf_puts(&text, "; from ");
		format_time(&text, n);
	}
	if (show_int_of(row, "elapsed", &ran)) {
		buf_puts(&text, " for ");
		format_duration(&text, ran);
	}
	if (nodes)
		buf_printf(&text, " on %s", nodes);
	add_share(&text, row, "cpu_util", "CPU");
	add_share(&text, row, "mem_util", "memory");
	add_share(&text, row, "gpu_util", "GPUs");
	show_line(label, "%s", text.data);
	buf_free(&text);
}

static void show_rows(const struct attempts *a, const char *id)
{
	uint64_t first = a->n > SHOWN ? a->n - SHOWN : 0;

	if (first)
		show_line("attempts",
		          "%llu before these: `aiq --history --attempts %s`",
		          (unsigned long long)first, id);
	for (uint64_t i = first; i < a->n; i++)
		if (a->row[i % SHOWN])
			show_row(a->row[i % SHOWN]);
}

static json_t *new_request(const char *id)
{
	return json_pack(
	    "{s:s, s:s, s:[s], s:[s, s, s, s, s, s, s, s, s, s, s, s, s]}",
	    "op", "attempts", "format", "json", "ids", id, "fields", "attempt",
	    "state", "reason", "evicted", "evicted_by", "exit_code", "signal",
	    "nodelist", "start_time", "elapsed", "cpu_util", "mem_util",
	    "gpu_util");
}

int attempts_show(struct client *client, const json_t *job, struct err *err)
{
	const char *id = show_text_of(job, "display_id");
	struct attempts a = { 0 };
	json_t *req, *answer;
	int64_t restarts, n;

	show_int_of(job, "restarts", &restarts);
	show_int_of(job, "attempts", &n);
	if (!id || strchr(id, '[') || (n < 2 && !restarts))
		return 0;
	req = new_request(id);
	answer = client_call(client, req, NULL, 0, take_part, &a, err);
	json_decref(req);
	if (answer)
		show_rows(&a, id);
	json_decref(answer);
	for (size_t i = 0; i < SHOWN; i++)
		json_decref(a.row[i]);
	buf_free(&a.rest);
	return answer ? 0 : -1;
}
