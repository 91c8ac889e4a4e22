/* rfc3339.c - parse and format times as "2026-11-21T07:00:00Z" */
#include "libcommon/rfc3339.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "libcommon/parse.h"

/* Parse exactly n digits and then the character next, unless that is 0. */
static bool take_digits(const char **s, int n, char next, int *ret)
{
	*ret = 0;
	for (; n > 0; n--, (*s)++) {
		if (!parse_is_digit(**s))
			return false;
		*ret = *ret * 10 + (**s - '0');
	}
	if (next && *(*s)++ != next)
		return false;
	return true;
}

/* Parse "Z" or "+02:00" into seconds east of UTC. */
static bool take_zone(const char **s, int *ret)
{
	int sign = **s == '-' ? -1 : 1, hours, minutes;

	*ret = 0;
	if (**s == 'Z' || **s == 'z') {
		++*s;
		return true;
	}
	if (*(*s) != '+' && **s != '-')
		return false;
	++*s;
	if (!take_digits(s, 2, ':', &hours) || !take_digits(s, 2, 0, &minutes))
		return false;
	*ret = sign * (hours * 3600 + minutes * 60);
	return hours < 24 && minutes < 60;
}

/* Parse ".5" into 500000; digits below a microsecond are dropped. */
static bool take_micros(const char **s, int64_t *ret)
{
	int64_t unit = 100000;

	*ret = 0;
	if (**s != '.')
		return true;
	if (!parse_is_digit(*++*s))
		return false;
	for (; parse_is_digit(**s); ++*s, unit /= 10)
		*ret += (**s - '0') * unit;
	return true;
}

static bool time_of(const char *s, int64_t *ret)
{
	struct tm tm = { 0 }, same;
	int64_t micros, seconds;
	int zone;

	if (!take_digits(&s, 4, '-', &tm.tm_year) ||
	    !take_digits(&s, 2, '-', &tm.tm_mon) ||
	    !take_digits(&s, 2, 0, &tm.tm_mday) || (*s != 'T' && *s != 't'))
		return false;
	s++;
	if (!take_digits(&s, 2, ':', &tm.tm_hour) ||
	    !take_digits(&s, 2, ':', &tm.tm_min) ||
	    !take_digits(&s, 2, 0, &tm.tm_sec) || !take_micros(&s, &micros) ||
	    !take_zone(&s, &zone) || *s)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	/* timegm() turns day 31 of a short month, or hour 25, into a later
	 * time: refuse such values. */
	same = tm;
	seconds = timegm(&same);
	if (same.tm_mon != tm.tm_mon || same.tm_mday != tm.tm_mday ||
	    same.tm_hour != tm.tm_hour || same.tm_min != tm.tm_min)
		return false;
	*ret = (seconds - zone) * 1000000 + micros;
	return true;
}

int rfc3339_parse(const char *s, int64_t *ret_us, struct err *err)
{
	if (!time_of(s, ret_us))
		return err_set(err, EINVAL, "bad time '%s'", s);
	return 0;
}

void rfc3339_format(int64_t us, char ret[28])
{
	time_t t = us / 1000000;
	struct tm tm;
	size_t len;

	gmtime_r(&t, &tm);
	len = strftime(ret, 28, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret + len, 28 - len, ".%06dZ", (int)(us % 1000000));
}
