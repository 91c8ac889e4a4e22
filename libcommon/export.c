/* export.c - which variables of the submitter a job gets */
#include "libcommon/export.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "libcommon/limits.h"

/* Parse one item, up to a comma or the end, and put it in item without quotes.
 * Returns a pointer behind it, or NULL if a quote has no end. */
static const char *take_item(const char *s, struct buf *item, struct err *err)
{
	char quote = 0;

	buf_clear(item);
	for (; *s && (quote || *s != ','); s++) {
		if (quote ? *s == quote : *s == '\'' || *s == '"')
			quote = quote ? 0 : *s;
		else
			buf_addc(item, *s);
	}
	if (quote) {
		err_set(err, EINVAL, "a quote without its end");
		return NULL;
	}
	return s;
}

/* Returns the length of the name in NAME or NAME=VALUE. */
static size_t name_len(const char *s)
{
	return strcspn(s, "=");
}

static bool is_name(const char *s)
{
	size_t len = name_len(s);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	return len && !isdigit((unsigned char)*s);
}

static bool same_name(const char *a, const char *b)
{
	size_t len = name_len(a);

	return len == name_len(b) && !memcmp(a, b, len);
}

/* Split a list into items, each with its zero byte. "ALL" sets *ret_all
 * instead, and "NONE" is left out. */
static int split(struct buf *ret, bool *ret_all, const char *list,
                 struct err *err)
{
	struct buf item = { 0 };
	int rc = 0;

	for (const char *s = list; rc == 0 && *s; s += *s == ',') {
		s = take_item(s, &item, err);
		if (!s) {
			rc = -1;
			break;
		}
		if (!item.len || !strcmp(item.data, "NONE") ||
		    !strcmp(item.data, "NIL"))
			continue;
		if (!strcmp(item.data, "ALL"))
			*ret_all = true;
		else if (is_name(item.data))
			buf_add(ret, item.data, item.len + 1);
		else
			rc = err_set(err, EINVAL,
			             "'%s' is not the name of a variable",
			             item.data);
	}
	buf_free(&item);
	return rc;
}

static const char *next_item(const struct buf *items, const char *item)
{
	item = item ? item + strlen(item) + 1 : items->data;
	return item < items->data + items->len ? item : NULL;
}

/* Returns the item that names the variable, or NULL. */
static const char *find_item(const struct buf *items, const char *variable)
{
	const char *item = NULL;

	while (items->len && (item = next_item(items, item)))
		if (same_name(item, variable))
			return item;
	return NULL;
}

int export_env(struct buf *ret, const char *list, char *const *env,
               struct err *err)
{
	struct buf items = { 0 };
	const char *item = NULL;
	size_t before = ret->len;
	bool all = !list;
	int rc = list ? split(&items, &all, list, err) : 0;

	for (; rc == 0 && *env; env++) {
		const char *named = find_item(&items, *env);

		if (!strchr(*env, '='))
			continue;
		/* A variable that the list gives a value is added below. */
		if (named ? !strchr(named, '=') : all)
			buf_add(ret, *env, strlen(*env) + 1);
	}
	while (rc == 0 && items.len && (item = next_item(&items, item)))
		if (strchr(item, '='))
			buf_add(ret, item, strlen(item) + 1);
	if (rc == 0 && ret->len - before > LIMIT_ENV)
		rc = err_set(
		    err, E2BIG,
		    "the environment has %zu bytes, %d are allowed: use "
		    "--export=NAME,... to pass fewer variables",
		    ret->len - before, LIMIT_ENV);
	buf_free(&items);
	return rc;
}
