/*
 * trace_history.c - read the output of `aiq --history --json`, or an archive
 *
 * The output of aiq is one large object; an archive has an object on each line.
 * Jobs are parsed one by one, so that a long history does not need a tree in
 * memory.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "aisim/trace.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

enum { CHUNK = 1024 * 1024 };

struct reader {
	struct trace *trace;
	const char *text, *end;
	uint32_t line;
};

/* A job of the past.  Times are unix seconds, -1: none. */
struct past_row {
	json_int_t id, tasks, min_tasks, memory;
	json_int_t priority, submit, start, end, time_limit;
	double cpus, gpus;
	const char *user, *queue, *class, *state;
};

static int unpack(json_t *obj, struct past_row *ret, struct err *err)
{
	json_t *start, *end, *limit;
	json_error_t why;

	if (json_unpack_ex(
		obj, &why, 0,
		"{s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, "
		"s:{s:F, s:I, s:F}}",
		"job_id", &ret->id, "user", &ret->user, "queue", &ret->queue,
		"class", &ret->class, "state", &ret->state, "priority",
		&ret->priority, "tasks", &ret->tasks, "min_tasks",
		&ret->min_tasks, "submit_time", &ret->submit, "start_time",
		&start, "end_time", &end, "time_limit", &limit, "resources",
		"cpus", &ret->cpus, "memory_mib", &ret->memory, "gpus",
		&ret->gpus) < 0)
		return err_set(err, EINVAL, "%s", why.text);
	ret->start = json_is_integer(start) ? json_integer_value(start) : -1;
	ret->end = json_is_integer(end) ? json_integer_value(end) : -1;
	ret->time_limit =
	    json_is_integer(limit) ? json_integer_value(limit) : TIME_UNLIMITED;
	if (ret->end < 0)
		return err_set(err, EINVAL, "job %lld has not ended",
		               (long long)ret->id);
	return 0;
}

/* Returns the work of a job in seconds; TRACE_NEVER (not known) if the job
 * never started or reached its time limit. */
static int64_t work_of(const struct past_row *row)
{
	if (row->start < 0 ||
	    (!strcmp(row->state, job_state_name(JOB_TIMEOUT)) &&
	     row->time_limit != TIME_UNLIMITED))
		return TRACE_NEVER;
	return row->end > row->start ? row->end - row->start : 0;
}

static int read_job(struct reader *r, json_t *obj, struct err *err)
{
	struct trace_job job = { .line = r->line, .preemptible = -1 };
	struct past_row row;
	struct spec spec;
	struct err why;
	char name[24];

	if (unpack(obj, &row, err) < 0)
		return -1;
	snprintf(name, sizeof(name), "%lld", (long long)row.id);
	job.name = name;
	job.user = trace_user(r->trace, row.user);
	job.submit = row.submit;
	job.work = work_of(&row);
	job.begin = job.deadline = TRACE_NEVER;
	job.real.start = job.real.end = TRACE_NEVER;
	spec_init(&spec);
	spec.queue = row.queue;
	spec.class = row.class;
	spec.priority = row.priority;
	spec.tasks = row.tasks;
	spec.min_tasks = row.min_tasks;
	spec.cpus = (int64_t)(row.cpus * 1000 + 0.5);
	spec.gpus = (int64_t)(row.gpus * 1000 + 0.5);
	spec.mem = row.memory;
	spec.time_limit = row.time_limit;
	if (trace_leaves(r->trace, name))
		return 0;
	if (trace_add(r->trace, &job, &spec, &why) < 0) {
		trace_leave(r->trace, name, &why);
	} else if (row.start < 0) {
		trace_act(r->trace, TRACE_CANCEL, name, r->line, row.end);
	}
	return 0;
}

/* --- text -------------------------------------------------------------- */

static void skip_space(struct reader *r)
{
	for (; r->text < r->end && memchr(" \t\r\n", *r->text, 4); r->text++)
		r->line += *r->text == '\n';
}

/* Skip these characters, with any spaces between them; returns false if the
 * text differs. */
static bool take(struct reader *r, const char *tokens)
{
	for (; *tokens; tokens++) {
		skip_space(r);
		if (r->text == r->end || *r->text != *tokens)
			return false;
		r->text++;
	}
	return true;
}

static int read_next(struct reader *r, struct err *err)
{
	json_error_t why;
	json_t *obj = json_loadb(r->text, (size_t)(r->end - r->text),
	                         JSON_DISABLE_EOF_CHECK, &why);
	int rc;

	if (!obj)
		return err_set(err, EINVAL, "not JSON: %s", why.text);
	rc = read_job(r, obj, err);
	json_decref(obj);
	for (int i = 0; i < why.position; i++)
		r->line += r->text[i] == '\n';
	r->text += why.position;
	return rc;
}

static int read_list(struct reader *r, struct err *err)
{
	skip_space(r);
	if (r->text < r->end && *r->text == ']')
		return 0;
	do {
		skip_space(r);
		if (read_next(r, err) < 0)
			return -1;
	} while (take(r, ","));
	if (r->text == r->end || *r->text != ']')
		return err_set(err, EINVAL, "the list of jobs has no end");
	return 0;
}

/* Read an archive made by `aictl history archive`: a job from each line that
 * has one. Lines of attempts are skipped. */
static int read_archive(struct reader *r, struct err *err)
{
	static const char key[] = "{\"job\":";

	for (;;) {
		const char *eol =
		    memchr(r->text, '\n', (size_t)(r->end - r->text));

		if (!eol)
			return r->text == r->end
			           ? 0
			           : err_set(err, EINVAL,
			                     "the archive has no end");
		r->text = eol + 1;
		r->line++;
		if ((size_t)(r->end - r->text) <= sizeof(key) ||
		    memcmp(r->text, key, sizeof(key) - 1) != 0)
			continue;
		r->text += sizeof(key) - 1;
		if (read_next(r, err) < 0)
			return -1;
	}
}

static int read_text(struct reader *r, struct err *err)
{
	const char *begin = r->text;

	if (take(r, "{\"archive\":1,"))
		return read_archive(r, err);
	r->text = begin;
	r->line = 1;
	if (take(r, "{\"jobs\":["))
		return read_list(r, err);
	return err_set(err, EINVAL,
	               "the output of `aiq --history --json` is expected: "
	               "{\"jobs\":[...]}, or an archive of `aictl history`");
}

static int read_rest(gzFile file, const char *path, struct buf *ret,
                     struct err *err)
{
	int n;

	while ((n = gzread(file, buf_room(ret, CHUNK), CHUNK)) > 0)
		buf_grew(ret, (size_t)n);
	if (n < 0 || (!gzdirect(file) && !gzeof(file)))
		return err_set(err, EIO, "cannot read '%s': %s", path,
		               gzerror(file, &n));
	return 0;
}

static int read_history(struct trace *trace, gzFile file, struct buf *text,
                        struct err *err)
{
	struct reader r = { .trace = trace, .line = 1 };

	if (read_rest(file, trace->file, text, err) < 0)
		return -1;
	buf_puts(text, "");
	r.text = text->data;
	r.end = text->data + text->len;
	if (read_text(&r, err) < 0)
		return err_wrap(err, "%s:%u", trace->file, r.line);
	return 0;
}

/* gzread() also reads files that are not compressed. */
int trace_read_history(struct trace *trace, struct err *err)
{
	static const char replay[] = "{\"replay\":";
	gzFile file = gzopen(trace->file, "rb");
	struct buf text = { 0 };
	int n, rc;

	if (!file)
		return err_sys(err, "cannot read '%s'", trace->file);
	while (text.len < sizeof(replay) - 1 &&
	       (n = gzread(file, buf_room(&text, sizeof(replay)),
	                   (unsigned)(sizeof(replay) - 1 - text.len))) > 0)
		buf_grew(&text, (size_t)n);
	if (text.len == sizeof(replay) - 1 &&
	    !memcmp(text.data, replay, text.len))
		rc = trace_read_replay(trace, file, &text, err);
	else
		rc = read_history(trace, file, &text, err);
	if (rc == 0)
		trace_shift(trace);
	gzclose(file);
	buf_free(&text);
	return rc;
}
