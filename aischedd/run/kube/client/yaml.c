/* yaml.c - parse the YAML of a kubeconfig into a tree of jansson */
#include "aischedd/run/kube/client/yaml.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

struct yaml_reader {
	yaml_parser_t parser;
	yaml_event_t event; /* current event */
	int nodes;
	struct err *err;
};

static int fail(struct yaml_reader *r, const yaml_mark_t *mark,
                const char *what)
{
	return err_set(r->err, EINVAL, "line %zu: %s", mark->line + 1, what);
}

/* Free the current event, and parse the next one. */
static int advance(struct yaml_reader *r)
{
	yaml_event_delete(&r->event);
	if (yaml_parser_parse(&r->parser, &r->event))
		return 0;
	return fail(r, &r->parser.problem_mark,
	            r->parser.problem ? r->parser.problem : "this is not YAML");
}

/* Returns a scalar as a string, or as null if it is empty, "~" or "null"
 * without quotes. */
static json_t *read_scalar(struct yaml_reader *r)
{
	const char *text = (const char *)r->event.data.scalar.value;
	size_t len = r->event.data.scalar.length;
	json_t *json = NULL;

	if (r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	    (!len || !strcmp(text, "~") || !strcmp(text, "null")))
		return json_null();
	if (strlen(text) == len)
		json = json_stringn(text, len);
	if (!json)
		fail(r, &r->event.start_mark, "a zero byte in a text");
	return json;
}

static json_t *read_node(struct yaml_reader *r, int depth);

static int fill_list(struct yaml_reader *r, json_t *list, int depth)
{
	while (advance(r) == 0) {
		json_t *item;

		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		item = read_node(r, depth);
		if (!item)
			return -1;
		json_array_append_new(list, item);
	}
	return -1;
}

static int fill_map(struct yaml_reader *r, json_t *map, int depth)
{
	while (advance(r) == 0) {
		yaml_mark_t mark = r->event.start_mark;
		json_t *key, *value = NULL;
		int rc = -1;

		if (r->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (r->event.type != YAML_SCALAR_EVENT)
			return fail(r, &mark, "a key is not text");
		key = read_scalar(r);
		if (!json_is_string(key))
			fail(r, &mark, "a key is not text");
		else if (json_object_get(map, json_string_value(key)))
			fail(r, &mark, "a key is given twice");
		else if (advance(r) == 0)
			value = read_node(r, depth);
		if (value)
			rc = json_object_set_new(map, json_string_value(key),
			                         value);
		json_decref(key);
		if (rc < 0)
			return -1;
	}
	return -1;
}

/* Read the value that begins with the current event. Afterwards the current
 * event is the last one of the value. */
static json_t *read_node(struct yaml_reader *r, int depth)
{
	bool list = r->event.type == YAML_SEQUENCE_START_EVENT;
	json_t *json;

	if (++r->nodes > KUBE_YAML_NODES) {
		fail(r, &r->event.start_mark, "too many values");
		return NULL;
	}
	if (r->event.type == YAML_ALIAS_EVENT) {
		fail(r, &r->event.start_mark,
		     "aliases are not supported; write the value out");
		return NULL;
	}
	if (r->event.type == YAML_SCALAR_EVENT)
		return read_scalar(r);
	if (depth == KUBE_YAML_DEPTH) {
		fail(r, &r->event.start_mark, "values are nested too deep");
		return NULL;
	}
	json = list ? json_array() : json_object();
	if ((list ? fill_list(r, json, depth + 1)
	          : fill_map(r, json, depth + 1)) == 0)
		return json;
	json_decref(json);
	return NULL;
}

static json_t *read_stream(struct yaml_reader *r)
{
	json_t *json;

	if (advance(r) < 0 ||
	    /* skip the begin of the stream and of the document */
	    advance(r) < 0)
		return NULL;
	if (r->event.type == YAML_STREAM_END_EVENT)
		return json_null();
	if (advance(r) < 0)
		return NULL;
	json = read_node(r, 0);
	if (!json)
		return NULL;
	if (advance(r) == 0 && advance(r) == 0) {
		if (r->event.type == YAML_STREAM_END_EVENT)
			return json;
		fail(r, &r->event.start_mark, "a second document begins");
	}
	json_decref(json);
	return NULL;
}

json_t *kube_yaml_parse(const char *text, size_t len, struct err *err)
{
	struct yaml_reader r = { .err = err };
	json_t *json;

	if (len > KUBE_YAML_BYTES) {
		err_set(err, EINVAL, "it is larger than %d MiB",
		        KUBE_YAML_BYTES >> 20);
		return NULL;
	}
	if (!yaml_parser_initialize(&r.parser)) {
		err_set(err, ENOMEM, "no memory for the YAML parser");
		return NULL;
	}
	yaml_parser_set_input_string(&r.parser, (const yaml_char_t *)text, len);
	json = read_stream(&r);
	yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	return json;
}
