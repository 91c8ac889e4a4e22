/* split.c - cut objects out of a stream of JSON */
#include "aischedd/run/kube/client/split.h"

#include <string.h>

#define KEEP ((size_t)256 << 10) /* memory kept for the next object */

json_t *kube_parse(const char *text, size_t len, struct err *err)
{
	json_error_t why;
	json_t *json = json_loadb(text, len, JSON_ALLOW_NUL, &why);

	if (!json)
		err_set(err, EPROTO, "the answer is not JSON: %s", why.text);
	return json;
}

void kube_split_init(struct kube_split *split, bool list, size_t max)
{
	*split = (struct kube_split){ .list = list,
		                      .max = max,
		                      .in = list ? IN_REST : IN_BETWEEN };
}

void kube_split_fini(struct kube_split *split)
{
	buf_free(&split->object);
	buf_free(&split->rest);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Update depth, in_text and escaped for the next character. Other syntax is
 * checked when the whole object is parsed. */
static void step(struct kube_split *split, char c)
{
	if (split->escaped)
		split->escaped = false;
	else if (split->in_text && c == '\\')
		split->escaped = true;
	else if (c == '"')
		split->in_text = !split->in_text;
	else if (!split->in_text && (c == '{' || c == '['))
		split->depth++;
	else if (!split->in_text && (c == '}' || c == ']'))
		split->depth--;
}

static int no_json(char c, struct err *err)
{
	return err_set(err, EPROTO, "the answer is not JSON: unexpected '%c'",
	               c);
}

static int too_large(const struct kube_split *split, struct err *err)
{
	return err_set(err, EMSGSIZE, "an object is larger than %zu KiB",
	               split->max >> 10);
}

static size_t trim(const struct buf *text, size_t len)
{
	while (len > 0 && is_blank(text->data[len - 1]))
		len--;
	return len;
}

/* Whether a '[' that comes next begins the list of items: it must follow the
 * name "items". A comma or brace before "items" shows that this is a name and
 * not a value. */
static bool begins_items(const struct kube_split *split)
{
	static const char name[] = "\"items\"";
	const size_t name_len = sizeof(name) - 1;
	const struct buf *rest = &split->rest;
	size_t len = trim(rest, rest->len);

	if (split->depth != 1 || len == 0 || rest->data[len - 1] != ':')
		return false;
	len = trim(rest, len - 1);
	if (len < name_len ||
	    memcmp(rest->data + len - name_len, name, name_len))
		return false;
	len = trim(rest, len - name_len);
	return len > 0 && strchr("{,", rest->data[len - 1]);
}

static int take_rest(struct kube_split *split, char c, struct err *err)
{
	bool items = c == '[' && !split->in_text && begins_items(split);

	if (split->rest.len >= split->max)
		return too_large(split, err);
	buf_addc(&split->rest, c);
	if (items)
		split->in = IN_BETWEEN;
	else
		step(split, c);
	return split->depth < 0 ? no_json(c, err) : 0;
}

static int take_between(struct kube_split *split, char c, struct err *err)
{
	if (is_blank(c) || (split->list && c == ','))
		return 0;
	if (split->list && c == ']') {
		buf_addc(&split->rest, c);
		split->in = IN_REST;
		return 0;
	}
	if (c != '{')
		return no_json(c, err);
	split->in = IN_OBJECT;
	split->depth = 0;
	return 1;
}

/* Returns what follows the list that begins at text; `end` if the list does not
 * end before. */
static const char *skip_list(const char *text, const char *end)
{
	struct kube_split inner = { 0 };

	do
		step(&inner, *text++);
	while (text < end && inner.depth > 0);
	return text;
}

/*
 * Cut managedFields out of the text of an object: nobody reads this field, and
 * it may be half of the text. The key that is searched for has quotes, so it
 * cannot match inside a string, where quotes have backslashes.
 */
static void drop_managed_fields(struct buf *text)
{
	static const char key[] = "\"managedFields\":[";
	char *at = memmem(text->data, text->len, key, sizeof(key) - 1);
	const char *end = text->data + text->len, *rest;

	if (!at || at == text->data || at[-1] == '\\')
		return;
	rest = skip_list(at + sizeof(key) - 2, end);
	if (rest < end && *rest == ',')
		rest++;
	else if (at[-1] == ',')
		at--;
	memmove(at, rest, (size_t)(end - rest));
	text->len -= (size_t)(rest - at);
	text->data[text->len] = '\0';
}

/* Parse the complete object and pass it to fn. */
static int emit(struct kube_split *split, kube_split_fn *fn, void *arg,
                struct err *err)
{
	json_t *obj;
	int rc;

	drop_managed_fields(&split->object);
	obj = kube_parse(split->object.data, split->object.len, err);
	if (!obj)
		return -1;
	if (split->object.cap > KEEP)
		buf_free(&split->object);
	else
		buf_clear(&split->object);
	split->in = IN_BETWEEN;
	split->depth = 1; /* inside the list */
	rc = fn(obj, arg, err);
	json_decref(obj);
	return rc;
}

/* Append data to the object up to the object's end. Sets *ret_taken to the
 * number of bytes used. */
static int take_object(struct kube_split *split, const char *data, size_t len,
                       size_t *ret_taken, struct err *err)
{
	size_t n = 0;

	do
		step(split, data[n++]);
	while (n < len && split->depth > 0);
	*ret_taken = n;
	if (split->object.len + n > split->max)
		return too_large(split, err);
	buf_add(&split->object, data, n);
	return 0;
}

int kube_split_feed(struct kube_split *split, const void *data, size_t len,
                    kube_split_fn *fn, void *arg, struct err *err)
{
	const char *p = data, *end = p + len;
	int rc = 0;

	while (p < end && rc >= 0) {
		size_t n = 1;

		switch (split->in) {
		case IN_REST:
			rc = take_rest(split, *p, err);
			break;
		case IN_BETWEEN:
			rc = take_between(split, *p, err);
			if (rc > 0)
				/* this byte is the first of the object */
				n = 0;
			break;
		case IN_OBJECT:
			rc = take_object(split, p, (size_t)(end - p), &n, err);
			if (rc == 0 && split->depth == 0)
				rc = emit(split, fn, arg, err);
			break;
		}
		p += n;
	}
	return rc < 0 ? -1 : 0;
}

bool kube_split_is_whole(const struct kube_split *split)
{
	if (split->list)
		return split->in == IN_REST && split->depth == 0 &&
		       split->rest.len > 0;
	return split->in == IN_BETWEEN;
}

json_t *kube_split_rest(const struct kube_split *split, struct err *err)
{
	json_t *rest = kube_parse(split->rest.data ? split->rest.data : "",
	                          split->rest.len, err);

	if (rest && !json_is_object(rest)) {
		json_decref(rest);
		rest = NULL;
		err_set(err, EPROTO, "the answer is not a list");
	}
	return rest;
}
