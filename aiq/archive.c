/* archive.c - jobs in a file that `aictl history archive` made */
#include "aiq/archive.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "libcommon/buf.h"
#include "libcommon/client/json_out.h"
#include "libcommon/hostlist.h"
#include "libcommon/jobid.h"
#include "libcommon/mem.h"

enum { CHUNK = 64 * 1024, LINE_MOST = 64 * 1024 * 1024 };

struct unpacking {
	const struct aiq *aiq;
	const json_t *fields; /* fields to print; NULL: whole objects */
	bool json;
	const char *kind; /* kind of lines to print */
	const char *user; /* list only jobs of this user; NULL: of all */
	struct jobid *id; /* ids of the operands */
	bool *found;
	uint64_t rows, line;
	client_part_fn *fn;
	void *arg;
	struct buf out;
};

/* --- filters ----------------------------------------------------------- */

static bool has_text(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;

	if (!list)
		return true;
	json_array_foreach(list, i, item)
		if (text && !strcmp(json_string_value(item), text))
			return true;
	return false;
}

static const char *text_of(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

static int64_t int_of(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static bool was_on(const json_t *row, const json_t *nodes)
{
	const char *text = text_of(row, "nodelist");
	struct hostlist list;
	bool was = false;

	if (!nodes)
		return true;
	if (!text || hostlist_parse(&list, text, NULL) < 0)
		return false;
	for (size_t i = 0; i < list.n && !was; i++)
		was = has_text(nodes, list.name[i]);
	hostlist_free(&list);
	return was;
}

static bool has_label(const json_t *labels, const char *wanted)
{
	const char *equals = strchr(wanted, '='), *value;
	size_t len = equals ? (size_t)(equals - wanted) : strlen(wanted);

	value = json_string_value(json_object_getn(labels, wanted, len));
	return value && (!equals || !strcmp(value, equals + 1));
}

static bool has_labels(const json_t *labels, const json_t *wanted)
{
	const json_t *item;
	size_t i;

	json_array_foreach(wanted, i, item)
		if (!has_label(labels, json_string_value(item)))
			return false;
	return true;
}

/* Whether an operand names the job, or there are no operands. Mark the operands
 * that name it in r->found. */
static bool is_named(struct unpacking *r, const json_t *row)
{
	int64_t job = int_of(row, "job_id");
	int64_t array = int_of(row, "array_job_id");
	int64_t task = int_of(row, "array_task_id");
	bool named = !r->aiq->noperands;

	for (size_t i = 0; i < r->aiq->noperands; i++) {
		const struct jobid *id = &r->id[i];

		if ((int64_t)id->job != job && (int64_t)id->job != array)
			continue;
		if (id->tasks.n &&
		    (task < 0 || !idset_has(&id->tasks, (uint32_t)task)))
			continue;
		named = r->found[i] = true;
	}
	return named;
}

static bool fits(struct unpacking *r, const json_t *row)
{
	const struct aiq *aiq = r->aiq;
	const char *user = text_of(row, "user");
	int64_t end = int_of(row, "end_time");

	return (!r->user || (user && !strcmp(r->user, user))) &&
	       has_text(aiq->users, user) &&
	       has_text(aiq->queues, text_of(row, "queue")) &&
	       has_text(aiq->states, text_of(row, "state")) &&
	       has_text(aiq->names, text_of(row, "name")) &&
	       has_text(aiq->accounts, text_of(row, "account")) &&
	       has_labels(json_object_get(row, "labels"), aiq->labels) &&
	       was_on(row, aiq->nodes) && (!aiq->since || end >= aiq->since) &&
	       (!aiq->until || end <= aiq->until) && is_named(r, row);
}

/* --- rows -------------------------------------------------------------- */

static void put_escaped(struct buf *out, const char *s)
{
	for (; *s; s++) {
		const char *mark = strchr("\t\n\\", *s);

		if (mark)
			buf_addc(out, '\\');
		buf_addc(out, !mark        ? *s
		              : *s == '\t' ? 't'
		              : *s == '\n' ? 'n'
		                           : *s);
	}
}

/* Append a value in the form in which the daemon writes values separated
 * by tabs. */
static void put_value(struct buf *out, const json_t *value)
{
	char *text;

	if (!value || json_is_null(value))
		return;
	if (json_is_string(value)) {
		put_escaped(out, json_string_value(value));
		return;
	}
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT |
	                             JSON_REAL_PRECISION(15));
	put_escaped(out, text ? text : "");
	free(text);
}

static void put_tsv(struct unpacking *r, const json_t *row)
{
	const json_t *name;
	size_t i;

	json_array_foreach(r->fields, i, name) {
		if (i)
			buf_addc(&r->out, '\t');
		put_value(&r->out,
		          json_object_get(row, json_string_value(name)));
	}
	buf_addc(&r->out, '\n');
}

static void put_json(struct unpacking *r, json_t *row)
{
	json_t *chosen = r->fields ? json_object() : json_incref(row);
	const json_t *name;
	char *text;
	size_t i;

	json_array_foreach(r->fields, i, name) {
		const char *key = json_string_value(name);
		json_t *value = json_object_get(row, key);

		json_object_set_new(chosen, key,
		                    value ? json_incref(value) : json_null());
	}
	text = json_out_text(chosen, JSON_COMPACT | JSON_REAL_PRECISION(15));
	buf_puts(&r->out, text ? text : "{}");
	buf_addc(&r->out, '\n');
	free(text);
	json_decref(chosen);
}

static int flush(struct unpacking *r, size_t least)
{
	int rc = 0;

	if (r->out.len > least)
		rc = r->fn(r->out.data, r->out.len, r->arg);
	if (r->out.len > least)
		buf_clear(&r->out);
	return rc;
}

/* --- the file ---------------------------------------------------------- */

static int bad_line(const struct unpacking *r, const char *why, struct err *err)
{
	return err_set(err, EINVAL, "%s:%llu: %s", r->aiq->file,
	               (unsigned long long)r->line, why);
}

static int take_line(struct unpacking *r, const char *line, size_t len,
                     struct err *err)
{
	json_t *obj = json_loadb(line, len, 0, NULL), *row;
	int rc = 0;

	r->line++;
	if (!obj)
		return bad_line(r, "not JSON", err);
	if (r->line == 1) {
		if (int_of(obj, "archive") != 1)
			rc = bad_line(r,
			              "not an archive that aictl made, or of "
			              "a newer version",
			              err);
	} else if ((row = json_object_get(obj, r->kind)) && fits(r, row)) {
		r->rows++;
		if (r->json)
			put_json(r, row);
		else
			put_tsv(r, row);
	}
	json_decref(obj);
	return rc;
}

/* Read the complete lines in text, and remove them. */
static int take_lines(struct unpacking *r, struct buf *text, struct err *err)
{
	const char *at = text->data, *eol;
	int rc = 0;

	while (
	    rc == 0 &&
	    (eol = memchr(at, '\n', text->len - (size_t)(at - text->data)))) {
		rc = take_line(r, at, (size_t)(eol - at), err);
		at = eol + 1;
	}
	text->len -= (size_t)(at - text->data);
	memmove(text->data, at, text->len);
	if (rc == 0 && text->len > LINE_MOST)
		rc = bad_line(r, "the line is too long", err);
	return rc;
}

static int read_file(struct unpacking *r, gzFile file, struct err *err)
{
	struct buf text = { 0 };
	int n, rc = 0;

	while (rc == 0 &&
	       (n = gzread(file, buf_room(&text, CHUNK), CHUNK)) > 0) {
		buf_grew(&text, (size_t)n);
		rc = take_lines(r, &text, err);
		if (rc == 0)
			rc = flush(r, CHUNK);
	}
	if (rc == 0 && (n < 0 || !gzeof(file) || text.len || !r->line))
		rc = bad_line(r, "the archive has no end: it was cut", err);
	if (rc == 0)
		rc = flush(r, 0);
	buf_free(&text);
	return rc;
}

static json_t *answer_of(const struct unpacking *r)
{
	json_t *missing = json_array();

	for (size_t i = 0; i < r->aiq->noperands; i++)
		if (!r->found[i])
			json_array_append_new(missing,
			                      json_string(r->aiq->operand[i]));
	return json_pack("{s:I, s:o}", "rows", (json_int_t)r->rows, "missing",
	                 missing);
}

/* Returns the user whose jobs are listed; NULL: those of all users. */
static const char *only_user(const struct aiq *aiq)
{
	const struct passwd *pw;

	if (aiq->all || aiq->users || aiq->noperands)
		return NULL;
	pw = getpwuid(geteuid());
	return pw ? pw->pw_name : "";
}

json_t *archive_rows(const struct aiq *aiq, const json_t *req,
                     client_part_fn *fn, void *arg, struct err *err)
{
	struct unpacking r = {
		.aiq = aiq,
		.fields = json_object_get(req, "fields"),
		.json = aiq->json,
		.kind = aiq->attempts ? "attempt" : "job",
		.user = only_user(aiq),
		.id = xcalloc(aiq->noperands + 1, sizeof(*r.id)),
		.found = xcalloc(aiq->noperands + 1, sizeof(*r.found)),
		.fn = fn,
		.arg = arg,
	};
	gzFile file = gzopen(aiq->file, "rb");
	json_t *answer = NULL;

	for (size_t i = 0; i < aiq->noperands; i++)
		jobid_parse(&r.id[i], aiq->operand[i], NULL);
	if (!file)
		err_sys(err, "cannot read '%s'", aiq->file);
	else if (read_file(&r, file, err) == 0)
		answer = answer_of(&r);
	if (file)
		gzclose(file);
	for (size_t i = 0; i < aiq->noperands; i++)
		idset_free(&r.id[i].tasks);
	free(r.id);
	free(r.found);
	buf_free(&r.out);
	return answer;
}
