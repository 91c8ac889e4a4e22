/* labels.c - labels that users give to jobs: `run=3,team=nlp` */
#include "libcommon/labels.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct label split(const char *s, size_t len)
{
	const char *equals = memchr(s, '=', len);
	size_t key_len = equals ? (size_t)(equals - s) : len;

	return (struct label){ .key = s,
		               .key_len = key_len,
		               .value = equals ? equals + 1 : NULL,
		               .value_len = equals ? len - key_len - 1 : 0 };
}

bool labels_next(const char **at, struct label *ret)
{
	size_t len;

	if (!*at || !**at)
		return false;
	len = strcspn(*at, ",");
	*ret = split(*at, len);
	*at += len + ((*at)[len] == ',');
	return true;
}

static bool is_part(const char *s, size_t len)
{
	if (len > LABEL_PART_MAX || !isalnum((unsigned char)s[0]) ||
	    !isalnum((unsigned char)s[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("-_.", s[i]))
			return false;
	return true;
}

static int check(const struct label *l, size_t len, struct err *err)
{
	if (l->key_len && is_part(l->key, l->key_len) &&
	    (!l->value_len || is_part(l->value, l->value_len)))
		return 0;
	return err_set(err, EINVAL,
	               "bad label '%.*s': use KEY=VALUE of up to %d letters, "
	               "digits, '-', '_' and '.', with a letter or digit at "
	               "both ends",
	               (int)len, l->key, LABEL_PART_MAX);
}

static int by_key(const struct label *a, const struct label *b)
{
	size_t len = a->key_len < b->key_len ? a->key_len : b->key_len;
	int order = memcmp(a->key, b->key, len);

	return order                     ? order
	       : a->key_len < b->key_len ? -1
	                                 : a->key_len > b->key_len;
}

/* Insert or replace a label; returns false if there are too many. */
static bool insert(struct label list[LABELS_MAX], size_t *n,
                   const struct label *l)
{
	size_t i = 0;

	while (i < *n && by_key(&list[i], l) < 0)
		i++;
	if (i < *n && by_key(&list[i], l) == 0) {
		list[i] = *l;
		return true;
	}
	if (*n == LABELS_MAX)
		return false;
	memmove(&list[i + 1], &list[i], (*n - i) * sizeof(*list));
	list[i] = *l;
	++*n;
	return true;
}

static int take(struct label list[LABELS_MAX], size_t *n, const char *text,
                struct err *err)
{
	for (const char *s = text; s;) {
		size_t len = strcspn(s, ",");
		struct label l = split(s, len);

		if (check(&l, len, err) < 0)
			return -1;
		if (!l.value)
			return err_set(err, EINVAL,
			               "label '%.*s' has no value: use "
			               "KEY=VALUE; KEY= for none",
			               (int)len, s);
		if (!insert(list, n, &l))
			return err_set(err, EINVAL,
			               "there are more than %d labels",
			               LABELS_MAX);
		s = s[len] ? s + len + 1 : NULL;
	}
	return 0;
}

int labels_add(struct buf *ret, const char *labels, const char *more,
               struct err *err)
{
	struct label list[LABELS_MAX];
	size_t n = 0;

	if (take(list, &n, labels, err) < 0 || take(list, &n, more, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		buf_printf(ret, "%s%.*s=%.*s", i ? "," : "",
		           (int)list[i].key_len, list[i].key,
		           (int)list[i].value_len, list[i].value);
	return 0;
}

int labels_check(const char *labels, struct err *err)
{
	struct label list[LABELS_MAX];
	size_t n = 0;

	return take(list, &n, labels, err);
}

int labels_check_wanted(const char *wanted, struct err *err)
{
	size_t len = strlen(wanted);
	struct label l = split(wanted, len);

	return check(&l, len, err);
}

bool labels_have(const char *labels, const char *wanted)
{
	struct label want = split(wanted, strlen(wanted)), l;

	while (labels_next(&labels, &l))
		if (by_key(&l, &want) == 0)
			return !want.value ||
			       (l.value_len == want.value_len &&
			        !memcmp(l.value, want.value, l.value_len));
	return false;
}
