/* rows.c - rows of the daemon's listings, and the values in them */
#include "slurm/rows.h"

#include <stdbool.h>
#include <string.h>

#include "libcommon/buf.h"

struct row_sink {
	struct buf rest; /* the first bytes of a row that is not complete yet */
	json_t *rows;
};

void rows_add_fields(json_t *fields, const char *names)
{
	for (const char *s = names; *s; s += strspn(s, " ")) {
		size_t len = strcspn(s, " "), i;
		const json_t *has;
		bool known = false;

		json_array_foreach(fields, i, has)
			known =
			    known || (json_string_length(has) == len &&
			              !strncmp(json_string_value(has), s, len));
		if (!known)
			json_array_append_new(fields, json_stringn(s, len));
		s += len;
	}
}

static int add_part(const void *data, size_t len, void *arg)
{
	struct row_sink *sink = arg;
	const char *at, *line, *eol;

	buf_add(&sink->rest, data, len);
	for (at = sink->rest.data; at && (eol = strchr(at, '\n'));
	     at = eol + 1) {
		line = at;
		json_array_append_new(
		    sink->rows,
		    json_loadb(line, (size_t)(eol - line), 0, NULL));
	}
	if (at) {
		len = sink->rest.len - (size_t)(at - sink->rest.data);
		memmove(sink->rest.data, at, len + 1);
		sink->rest.len = len;
	}
	return 0;
}

int rows_read(struct client *client, json_t *req, json_t *fields,
              json_t **ret_rows, json_t **ret_answer, struct err *err)
{
	struct row_sink sink = { .rows = json_array() };
	json_t *answer;

	if (fields) {
		json_object_set_new(req, "format", json_string("json"));
		json_object_set(req, "fields", fields);
	}
	answer = client_call(client, req, NULL, 0, add_part, &sink, err);
	json_decref(req);
	buf_free(&sink.rest);
	if (!answer) {
		json_decref(sink.rows);
		return -1;
	}
	*ret_rows = sink.rows;
	if (ret_answer)
		*ret_answer = answer;
	else
		json_decref(answer);
	return 0;
}

const char *row_text(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

int64_t row_int(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	if (json_is_integer(value))
		return json_integer_value(value);
	if (json_is_real(value))
		return (int64_t)json_real_value(value);
	return json_is_boolean(value) ? json_is_true(value) : ROW_NONE;
}

double row_real(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}
