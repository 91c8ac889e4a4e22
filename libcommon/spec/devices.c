/* devices.c - devices other than GPUs: how many of each kind */
#include "libcommon/spec/devices.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum device_near { NEAR_ANY, NEAR_PCIE, NEAR_NUMA };

/* An item of a text, NAME[:COUNT][:pcie|:numa]. */
struct item {
	const char *name;
	size_t len; /* of the name */
	int64_t count;
	enum device_near near;
};

static bool take_word(const char **s, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*s, word, len) != 0)
		return false;
	*s += len;
	return true;
}

/* Parse the next item of a text, and move *s behind it and the comma that
 * follows. Returns false if the text is wrong. */
static bool take_item(const char **s, struct item *ret)
{
	const char *p = *s;

	*ret = (struct item){ .name = p, .count = 1 };
	while (isalnum((unsigned char)*p) || (*p && strchr("_.-", *p)))
		p++;
	ret->len = (size_t)(p - *s);
	if (*p == ':' && isdigit((unsigned char)p[1])) {
		for (ret->count = 0, p++; isdigit((unsigned char)*p); p++) {
			ret->count = 10 * ret->count + *p - '0';
			if (ret->count > DEVICE_MAX)
				ret->count = DEVICE_MAX + 1;
		}
	}
	if (take_word(&p, ":pcie"))
		ret->near = NEAR_PCIE;
	else if (take_word(&p, ":numa"))
		ret->near = NEAR_NUMA;
	if (*p && (*p != ',' || !p[1]))
		return false;
	*s = p + (*p == ',');
	return ret->len > 0;
}

static int next_item(const char *text, const char **s, struct item *ret,
                     struct err *err)
{
	if (!take_item(s, ret))
		return err_set(err, EINVAL,
		               "bad devices '%s': use NAME[:N][:pcie|:numa]",
		               text);
	if (!ret->count || ret->count > DEVICE_MAX)
		return err_set(err, ERANGE,
		               "bad devices '%s': a number from 1 to %d is "
		               "expected",
		               text, DEVICE_MAX);
	return 0;
}

int devices_check(const char *text, struct err *err)
{
	const char *s = text;
	struct item item;

	do {
		if (next_item(text, &s, &item, err) < 0)
			return -1;
	} while (*s);
	return 0;
}

/* Add what an item asks for of kind i, which `seen` has bit i for if an item
 * before it named that kind. */
static int add_item(const char *text, const struct item *item, size_t i,
                    unsigned seen, struct device_need *sum, struct err *err)
{
	uint8_t bit = (uint8_t)(1u << i);
	enum device_near had = sum->pcie & bit   ? NEAR_PCIE
	                       : sum->numa & bit ? NEAR_NUMA
	                                         : NEAR_ANY;

	if (seen & bit && had != item->near)
		return err_set(err, EINVAL,
		               "bad devices '%s': '%.*s' must be in one place: "
		               "all of them :pcie, all :numa, or none",
		               text, (int)item->len, item->name);
	if (item->count + sum->counts.n[i] > DEVICE_MAX)
		return err_set(err, ERANGE,
		               "bad devices '%s': more than %d of '%.*s'", text,
		               DEVICE_MAX, (int)item->len, item->name);
	sum->counts.n[i] = (int16_t)(sum->counts.n[i] + item->count);
	sum->pcie |= item->near == NEAR_PCIE ? bit : 0;
	sum->numa |= item->near == NEAR_NUMA ? bit : 0;
	return 0;
}

int devices_parse_need(const char *const *name, size_t n, const char *text,
                       struct device_need *ret, struct err *err)
{
	struct device_need sum = { { { 0 } }, 0, 0 };
	const char *s = text;
	unsigned seen = 0;

	do {
		struct item it;
		size_t i = 0;

		if (next_item(text, &s, &it, err) < 0)
			return -1;
		while (i < n && (strlen(name[i]) != it.len ||
		                 strncmp(name[i], it.name, it.len)))
			i++;
		if (i == n)
			return err_set(err, ENOENT, "there is no device '%.*s'",
			               (int)it.len, it.name);
		if (add_item(text, &it, i, seen, &sum, err) < 0)
			return -1;
		seen |= 1u << i;
	} while (*s);
	*ret = sum;
	return 0;
}

int devices_parse(const char *const *name, size_t n, const char *text,
                  struct device_counts *ret, struct err *err)
{
	struct device_need need;

	if (devices_parse_need(name, n, text, &need, err) < 0)
		return -1;
	*ret = need.counts;
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
	static const char *const near[] = { "", ":pcie", ":numa" };
	const char *s = text;
	struct item it;

	do {
		if (next_item(text, &s, &it, err) < 0)
			return -1;
		if (it.count % tasks)
			return err_set(err, EINVAL,
			               "%lld %.*s on each node cannot be "
			               "divided evenly among its %lld tasks",
			               (long long)it.count, (int)it.len,
			               it.name, (long long)tasks);
		buf_printf(out, "%s%.*s:%lld%s", out->len ? "," : "",
		           (int)it.len, it.name, (long long)(it.count / tasks),
		           near[it.near]);
	} while (*s);
	return 0;
}
