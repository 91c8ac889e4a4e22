/* rlimits.c - resource limits of processes */
#include "libcommon/rlimits.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "libcommon/parse.h"

static const struct {
	const char *name;
	int resource;
} table[RLIMITS_N] = {
#define X(name) [LIMITED_##name] = { #name, RLIMIT_##name },
	RLIMITS(X)
#undef X
};

void rlimits_get(struct rlimits *ret)
{
	for (size_t i = 0; i < RLIMITS_N; i++)
		if (getrlimit((__rlimit_resource_t)table[i].resource,
		              &ret->of[i]) < 0)
			ret->of[i] =
			    (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
}

static void put(struct buf *out, rlim_t limit)
{
	if (limit == RLIM_INFINITY)
		buf_addc(out, '-');
	else
		buf_printf(out, "%" PRIu64, (uint64_t)limit);
}

void rlimits_format(struct buf *out, const struct rlimits *limits)
{
	const char *comma = "";

	for (size_t i = 0; i < RLIMITS_N; i++) {
		const struct rlimit *l = &limits->of[i];

		if (l->rlim_cur == RLIM_INFINITY &&
		    l->rlim_max == RLIM_INFINITY)
			continue;
		buf_printf(out, "%s%s=", comma, table[i].name);
		put(out, l->rlim_cur);
		buf_addc(out, ':');
		put(out, l->rlim_max);
		comma = ",";
	}
}

static bool take(const char **s, rlim_t *ret)
{
	int64_t n;

	*ret = RLIM_INFINITY;
	if (**s == '-') {
		++*s;
		return true;
	}
	if (!take_number(s, INT64_MAX, &n))
		return false;
	*ret = (rlim_t)n;
	return true;
}

/* Parse a limit like "NOFILE=1024:4096". */
static bool take_limit(const char **s, struct rlimits *limits)
{
	size_t len = strcspn(*s, "=");

	for (size_t i = 0; i < RLIMITS_N; i++) {
		struct rlimit *l = &limits->of[i];

		if (strlen(table[i].name) != len ||
		    strncmp(table[i].name, *s, len) != 0)
			continue;
		*s += len;
		return *(*s)++ == '=' && take(s, &l->rlim_cur) &&
		       *(*s)++ == ':' && take(s, &l->rlim_max) &&
		       l->rlim_cur <= l->rlim_max;
	}
	return false;
}

int rlimits_parse(struct rlimits *ret, const char *s, struct err *err)
{
	const char *p = s;
	bool good;

	for (size_t i = 0; i < RLIMITS_N; i++)
		ret->of[i] = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	do
		good = take_limit(&p, ret);
	while (good && *p == ',' && *++p);
	if (!good || *p || p[-1] == ',')
		return err_set(err, EINVAL,
		               "bad limits '%s': use NOFILE=SOFT:HARD,...", s);
	return 0;
}

void rlimits_set(const struct rlimits *limits, uint32_t which)
{
	for (size_t i = 0; i < RLIMITS_N; i++) {
		__rlimit_resource_t resource =
		    (__rlimit_resource_t)table[i].resource;
		struct rlimit l = limits->of[i], has;

		if (!(which & 1U << i) || getrlimit(resource, &has) < 0)
			continue;
		if (l.rlim_max > has.rlim_max)
			l.rlim_max = has.rlim_max;
		if (l.rlim_cur > l.rlim_max)
			l.rlim_cur = l.rlim_max;
		/* This needs no privileges: it lowers limits, or raises a soft
		 * limit up to the hard limit. */
		setrlimit(resource, &l);
	}
}

static int find(const char *name)
{
	for (int i = 0; i < RLIMITS_N; i++)
		if (!strcasecmp(table[i].name, name))
			return i;
	return -1;
}

int rlimits_select(const char *const *name, size_t n, uint32_t *ret,
                   struct err *err)
{
	*ret = 0;
	if (n == 1 && !strcasecmp(name[0], "NONE"))
		return 0;
	if (n == 1 && !strcasecmp(name[0], "ALL")) {
		*ret = (1U << RLIMITS_N) - 1;
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		int id = find(name[i]);

		if (id < 0)
			return err_set(err, EINVAL,
			               "bad limit '%s': use AS, CORE, CPU, "
			               "DATA, FSIZE, MEMLOCK, NOFILE, NPROC, "
			               "RSS and STACK, or ALL or NONE alone",
			               name[i]);
		*ret |= 1U << id;
	}
	return 0;
}
