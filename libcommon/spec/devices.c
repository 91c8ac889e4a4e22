/* devices.c - devices other than GPUs: how many of each kind */
#include "libcommon/spec/devices.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Parse the next NAME[:COUNT] of a text, and move *s behind it and the comma
 * that follows. Returns the length of the name; 0 if the text is wrong. */
static size_t take_item(const char **s, int64_t *ret_count)
{
	const char *p = *s;
	size_t len;

	while (isalnum((unsigned char)*p) || (*p && strchr("_.-", *p)))
		p++;
	len = (size_t)(p - *s);
	*ret_count = 1;
	if (*p == ':') {
		if (!isdigit((unsigned char)*++p))
			return 0;
		for (*ret_count = 0; isdigit((unsigned char)*p); p++) {
			*ret_count = 10 * *ret_count + *p - '0';
			if (*ret_count > DEVICE_MAX)
				*ret_count = DEVICE_MAX + 1;
		}
	}
	if (*p && (*p != ',' || !p[1]))
		return 0;
	*s = p + (*p == ',');
	return len;
}

static int next_item(const char *text, const char **s, size_t *ret_len,
                     int64_t *ret_count, struct err *err)
{
	*ret_len = take_item(s, ret_count);
	if (!*ret_len)
		return err_set(err, EINVAL, "bad devices '%s': use NAME[:N]",
		               text);
	if (!*ret_count || *ret_count > DEVICE_MAX)
		return err_set(err, ERANGE,
		               "bad devices '%s': a number from 1 to %d is "
		               "expected",
		               text, DEVICE_MAX);
	return 0;
}

int devices_check(const char *text, struct err *err)
{
	const char *s = text;

	do {
		int64_t count;
		size_t len;

		if (next_item(text, &s, &len, &count, err) < 0)
			return -1;
	} while (*s);
	return 0;
}

int devices_parse(const char *const *name, size_t n, const char *text,
                  struct device_counts *ret, struct err *err)
{
	struct device_counts sum = { { 0 } };
	const char *s = text;

	do {
		const char *item = s;
		int64_t count;
		size_t len, i = 0;

		if (next_item(text, &s, &len, &count, err) < 0)
			return -1;
		while (i < n &&
		       (strlen(name[i]) != len || strncmp(name[i], item, len)))
			i++;
		if (i == n)
			return err_set(err, ENOENT, "there is no device '%.*s'",
			               (int)len, item);
		count += sum.n[i];
		if (count > DEVICE_MAX)
			return err_set(err, ERANGE,
			               "bad devices '%s': more than %d of '%s'",
			               text, DEVICE_MAX, name[i]);
		sum.n[i] = (int16_t)count;
	} while (*s);
	*ret = sum;
	return 0;
}

void devices_put(const char *const *name, size_t n,
                 const struct device_counts *counts, const char *before,
                 struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (!counts->n[i])
			continue;
		buf_printf(out, "%s%s:%d", before, name[i], counts->n[i]);
		before = ",";
	}
}

int devices_divide(const char *text, int64_t tasks, struct buf *out,
                   struct err *err)
{
	const char *s = text;

	do {
		const char *item = s;
		int64_t count;
		size_t len;

		if (next_item(text, &s, &len, &count, err) < 0)
			return -1;
		if (count % tasks)
			return err_set(err, EINVAL,
			               "%lld %.*s on each node cannot be "
			               "divided evenly among its %lld tasks",
			               (long long)count, (int)len, item,
			               (long long)tasks);
		buf_printf(out, "%s%.*s:%lld", out->len ? "," : "", (int)len,
		           item, (long long)(count / tasks));
	} while (*s);
	return 0;
}
