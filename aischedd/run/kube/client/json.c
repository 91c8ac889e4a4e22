/* json.c - read fields of Kubernetes objects */
#include "aischedd/run/kube/client/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/parse.h"
#include "libcommon/rfc3339.h"

/* --- read quantities --- */

enum { PART_DIGITS = 15, TEN_MAX = 38 };

typedef __int128 wide;

/* A quantity: (whole + part / 10^15) * 10^ten * 2^two. */
struct number {
	wide whole, part;
	int ten, two;
};

static wide power(int n)
{
	wide value = 1;

	while (n-- > 0)
		value *= 10;
	return value;
}

/* Read the suffix of a quantity ("k", "Mi", "e3", or none) into n->ten or
 * n->two. Returns false if s is not a suffix. */
static bool take_suffix(const char *s, struct number *n)
{
	static const char letters[] = "num kMGTPE", binary[] = "KMGTPE";
	const char *at;
	char *end;
	long ten;

	if (!*s)
		return true;
	at = strchr(binary, *s);
	if (at && s[1] == 'i') {
		n->two = 10 * (int)(at - binary + 1);
		return !s[2];
	}
	if ((*s == 'e' || *s == 'E') && s[1]) {
		if (!parse_is_digit(s[1]) && s[1] != '-' && s[1] != '+')
			return false;
		ten = strtol(s + 1, &end, 10);
		n->ten = (int)(ten > 99 ? 99 : ten < -99 ? -99 : ten);
		return !*end && parse_is_digit(end[-1]);
	}
	at = strchr(letters, *s);
	n->ten = at ? 3 * (int)(at - letters - 3) : 0;
	return at && *s != ' ' && !s[1];
}

/* Read a quantity. If it has digits below 10^-15, n->part is rounded up.
 * Returns false if the text is malformed. */
static bool take_quantity(const char *s, struct number *n)
{
	const wide enough = power(22);
	int left = PART_DIGITS;
	bool digits = parse_is_digit(*s), more = false;

	for (; parse_is_digit(*s); s++)
		if (n->whole < enough)
			n->whole = n->whole * 10 + (*s - '0');
	if (*s == '.') {
		s++;
		digits |= parse_is_digit(*s);
		for (; parse_is_digit(*s); s++) {
			if (left > 0) {
				n->part = n->part * 10 + (*s - '0');
				left--;
			} else {
				more |= *s != '0';
			}
		}
	}
	n->part = n->part * power(left) + more;
	return digits && take_suffix(s, n);
}

static wide divide_up(wide a, wide b)
{
	return a / b + (a % b != 0);
}

/* Returns the number in units of 10^-scale, rounded up; at most INT64_MAX. */
static int64_t number_scaled(const struct number *n, int scale)
{
	const wide one = power(PART_DIGITS);
	int ten = n->ten + scale;
	wide whole, part;

	if (!n->whole && !n->part)
		return 0;
	if (ten < 0) {
		int less = PART_DIGITS - ten;

		whole = divide_up(n->whole * one + n->part,
		                  power(less < TEN_MAX ? less : TEN_MAX));
		return whole < INT64_MAX ? (int64_t)whole : INT64_MAX;
	}
	/* If this overflows, the result is far above INT64_MAX even after the
	 * division. */
	whole = power(ten < TEN_MAX ? ten : TEN_MAX) << n->two;
	if (__builtin_mul_overflow(n->part, whole, &part) ||
	    __builtin_mul_overflow(n->whole, whole, &whole))
		return INT64_MAX;
	part = divide_up(part, one);
	if (whole > INT64_MAX - part)
		return INT64_MAX;
	return (int64_t)(whole + part);
}

static int quantity(const json_t *value, int scale, int64_t *ret,
                    struct err *err)
{
	const char *s = json_string_value(value);
	struct number n = { 0 };
	char text[24];
	bool minus;

	if (json_is_integer(value)) {
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
		         json_integer_value(value));
		s = text;
	}
	if (!s)
		return err_set(err, EINVAL, "a quantity is not a text");
	minus = *s == '-';
	if (!take_quantity(s + (minus || *s == '+'), &n))
		return err_set(err, EINVAL, "bad quantity '%s'", s);
	*ret = number_scaled(&n, scale);
	if (minus)
		*ret = -*ret;
	return 0;
}

int kube_milli_of(const json_t *value, int64_t *ret, struct err *err)
{
	return quantity(value, 3, ret, err);
}

int kube_whole_of(const json_t *value, int64_t *ret, struct err *err)
{
	return quantity(value, 0, ret, err);
}

/* --- read fields --- */

/* Returns the value at the path, or NULL if it is absent or null. */
static json_t *find(struct kube_reader *r, const char *path)
{
	const json_t *at = r->obj;

	while (at) {
		size_t len = strcspn(path, ".");

		at = json_object_getn(at, path, len);
		if (!path[len])
			break;
		path += len + 1;
	}
	return json_is_null(at) ? NULL : (json_t *)at;
}

static void wrong(struct kube_reader *r, const char *path, const char *want)
{
	if (!r->err.code)
		err_set(&r->err, EPROTO, "%s is not %s", path, want);
}

const char *kube_text(struct kube_reader *r, const char *path)
{
	const json_t *value = find(r, path);

	if (value && !json_is_string(value))
		wrong(r, path, "a text");
	return json_string_value(value);
}

int64_t kube_int(struct kube_reader *r, const char *path, int64_t absent)
{
	const json_t *value = find(r, path);

	if (!value)
		return absent;
	if (!json_is_integer(value)) {
		wrong(r, path, "a whole number");
		return absent;
	}
	return json_integer_value(value);
}

bool kube_bool(struct kube_reader *r, const char *path, bool absent)
{
	const json_t *value = find(r, path);

	if (!value)
		return absent;
	if (!json_is_boolean(value)) {
		wrong(r, path, "a boolean");
		return absent;
	}
	return json_is_true(value);
}

json_t *kube_list(struct kube_reader *r, const char *path)
{
	json_t *value = find(r, path);

	if (!value || json_is_array(value))
		return value;
	wrong(r, path, "a list");
	return NULL;
}

json_t *kube_map(struct kube_reader *r, const char *path)
{
	json_t *value = find(r, path);

	if (!value || json_is_object(value))
		return value;
	wrong(r, path, "an object");
	return NULL;
}

int64_t kube_time(struct kube_reader *r, const char *path)
{
	const char *s = kube_text(r, path);
	int64_t us = 0;

	if (s && rfc3339_parse(s, &us, NULL) < 0)
		wrong(r, path, "a time");
	return us;
}

bool kube_list_has(const json_t *list, const char *word)
{
	const json_t *value;
	size_t i;

	json_array_foreach(list, i, value)
		if (word && json_is_string(value) &&
		    !strcmp(json_string_value(value), word))
			return true;
	return false;
}
