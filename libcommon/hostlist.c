/* hostlist.c - expand and format "n[000-127],login,r[1-2]n[1-8]" */
#include "libcommon/hostlist.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum {
	NAME_BYTES = 255, /* more than DNS allows */
	DIGITS = 9        /* of a number in brackets */
};

struct expansion {
	struct hostlist list;
	const char *text; /* the whole list, for errors */
	struct err *err;
	char name[NAME_BYTES + 1];
};

static int bad(struct expansion *x, const char *at, const char *what)
{
	return err_set(x->err, EINVAL,
	               "bad host list '%s': %s at character %zu", x->text, what,
	               (size_t)(at - x->text) + 1);
}

static int add_name(struct expansion *x, size_t len)
{
	struct hostlist *list = &x->list;

	if (list->n == LIMIT_HOSTS)
		return err_set(x->err, ERANGE,
		               "host list '%s' has more than %d names", x->text,
		               LIMIT_HOSTS);
	list->name = GROW(list->name, list->n, &list->cap);
	list->name[list->n++] = xstrndup(x->name, len);
	return 0;
}

static int take_value(struct expansion *x, const char **p, uint32_t *ret)
{
	const char *start = *p;
	uint32_t value = 0;

	for (; parse_is_digit(**p); ++*p) {
		if (*p - start == DIGITS)
			return bad(x, start, "a number too long");
		value = value * 10 + (uint32_t)(**p - '0');
	}
	if (*p == start)
		return bad(x, start, "a number is missing");
	*ret = value;
	return 0;
}

/* Parse "7" or "000-127"; *ret_width is the number of digits of the
 * first number. */
static int take_range(struct expansion *x, const char **p, uint32_t *ret_lo,
                      uint32_t *ret_hi, int *ret_width)
{
	const char *start = *p;

	if (take_value(x, p, ret_lo) < 0)
		return -1;
	*ret_width = (int)(*p - start);
	*ret_hi = *ret_lo;
	if (**p == '-') {
		++*p;
		if (take_value(x, p, ret_hi) < 0)
			return -1;
	}
	if (*ret_hi < *ret_lo)
		return bad(x, start, "a range that ends before it begins");
	if (**p != ',' && **p != ']')
		return bad(x, *p, "no number");
	return 0;
}

/* Add all names that begin with the len bytes of x->name and continue as p
 * says, up to the comma or the end. */
static int expand(struct expansion *x, size_t len, const char *p)
{
	const char *close;

	for (; *p && *p != ',' && *p != '['; p++) {
		if ((unsigned char)*p <= ' ' || *p == 127 || *p == ']')
			return bad(x, p, "a character that no name may have");
		if (len == NAME_BYTES)
			return bad(x, p, "a name too long");
		x->name[len++] = *p;
	}
	if (*p != '[')
		return len ? add_name(x, len) : bad(x, p, "a name is missing");
	if (len + DIGITS > NAME_BYTES)
		return bad(x, p, "a name too long");

	close = strchr(p, ']');
	if (!close)
		return bad(x, p, "a '[' without ']'");
	do {
		uint32_t lo, hi;
		int width;

		p++;
		if (take_range(x, &p, &lo, &hi, &width) < 0)
			return -1;
		for (uint32_t i = lo; i <= hi; i++) {
			int n = snprintf(x->name + len, DIGITS + 1, "%0*u",
			                 width, i);

			if (expand(x, len + (size_t)n, close + 1) < 0)
				return -1;
		}
	} while (*p == ',');
	return 0;
}

/* Returns the comma behind the name at p, or the end of the text. */
static const char *skip_name(const char *p)
{
	for (bool inside = false; *p && (inside || *p != ','); p++)
		inside = *p == '[' || (inside && *p != ']');
	return p;
}

int hostlist_parse(struct hostlist *ret, const char *s, struct err *err)
{
	struct expansion x = { .text = s, .err = err };
	const char *p = s - 1;

	do {
		p++;
		if (expand(&x, 0, p) < 0) {
			hostlist_free(&x.list);
			return -1;
		}
		p = skip_name(p);
	} while (*p);
	*ret = x.list;
	return 0;
}

void hostlist_free(struct hostlist *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->name[i]);
	free(list->name);
	*list = (struct hostlist){ 0 };
}

/* A name divided into its stem and the digits at its end. */
struct host {
	const char *name, *digits;
	size_t stem, width;
	uint32_t number;
};

static struct host host_of(const char *name)
{
	size_t len = strlen(name);
	struct host host = { .name = name, .stem = len };

	while (host.stem && host.width < DIGITS &&
	       parse_is_digit(name[host.stem - 1])) {
		host.stem--;
		host.width++;
	}
	host.digits = name + host.stem;
	for (const char *p = host.digits; *p; p++)
		host.number = host.number * 10 + (uint32_t)(*p - '0');
	return host;
}

static int by_stem(const struct host *x, const struct host *y)
{
	size_t len = x->stem < y->stem ? x->stem : y->stem;
	int order = memcmp(x->name, y->name, len);

	return order ? order : (x->stem > y->stem) - (x->stem < y->stem);
}

/* Sort n2 before n10, and both before n002: by stem, number of
 * digits, digits. */
static int by_name(const void *a, const void *b)
{
	const struct host *x = a, *y = b;
	int order = by_stem(x, y);

	if (!order)
		order = (x->width > y->width) - (x->width < y->width);
	return order ? order : strcmp(x->digits, y->digits);
}

/* Whether b follows a in a range that begins with lo, with the same padding. */
static bool follows(const struct host *lo, const struct host *a,
                    const struct host *b)
{
	return b->number == a->number + 1 &&
	       (b->width == lo->width ||
	        (b->width > lo->width && *b->digits != '0'));
}

/* Append n hosts of one stem, as a name or as STEM[RANGES]. */
static void put_group(struct buf *out, const struct host *host, size_t n)
{
	buf_add(out, host->name, host->stem);
	if (n > 1)
		buf_addc(out, '[');
	for (size_t i = 0; i < n; i++) {
		const struct host *lo = &host[i];

		if (i)
			buf_addc(out, ',');
		buf_puts(out, lo->digits);
		while (i + 1 < n && follows(lo, &host[i], &host[i + 1]))
			i++;
		if (&host[i] != lo) {
			buf_addc(out, '-');
			buf_puts(out, host[i].digits);
		}
	}
	if (n > 1)
		buf_addc(out, ']');
}

void hostlist_format(const char *const *name, size_t n, struct buf *out)
{
	struct host *host = xcalloc(n, sizeof(*host));
	size_t nhosts = 0;

	for (size_t i = 0; i < n; i++)
		host[i] = host_of(name[i]);
	if (n)
		qsort(host, n, sizeof(*host), by_name);
	for (size_t i = 0; i < n; i++)
		if (!nhosts || by_name(&host[nhosts - 1], &host[i]))
			host[nhosts++] = host[i];

	for (size_t i = 0, end; i < nhosts; i = end) {
		end = i + 1;
		/* A name without digits at its end shares brackets with
		 * no other. */
		while (host[i].width && end < nhosts &&
		       !by_stem(&host[i], &host[end]))
			end++;
		if (i)
			buf_addc(out, ',');
		put_group(out, &host[i], end - i);
	}
	free(host);
}
