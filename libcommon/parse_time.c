/* parse_time.c - parse and format durations and times */
#include <string.h>
#include <strings.h>
#include <time.h>

#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum { MINUTE = 60, HOUR = 3600, DAY = 86400, WEEK = 7 * DAY };

/* Parse min, min:sec, h:m:s, d-h, d-h:m or d-h:m:s. */
static bool duration_of_fields(const char *s, int64_t *ret)
{
	int64_t days = 0, field[3], total;
	bool has_days = strchr(s, '-') != NULL;
	int n = 0, unit;

	if (has_days && (!take_number(&s, MAX_SECONDS, &days) || *s++ != '-'))
		return false;
	do {
		if (n == 3 || !take_number(&s, MAX_SECONDS, &field[n++]))
			return false;
	} while (*s++ == ':');
	if (s[-1])
		return false;

	total = days * DAY;
	unit = has_days || n == 3 ? HOUR : MINUTE;
	for (int i = 0; i < n; i++, unit /= 60)
		total += field[i] * unit;
	*ret = total;
	return total <= MAX_SECONDS;
}

static int unit_seconds(char c)
{
	switch (c) {
	case 's':
		return 1;
	case 'm':
		return MINUTE;
	case 'h':
		return HOUR;
	case 'd':
		return DAY;
	case 'w':
		return WEEK;
	}
	return 0;
}

/* Parse one or more numbers with units: 90s, 1h30m. */
static bool duration_of_units(const char *s, int64_t *ret)
{
	int64_t n, total = 0;

	do {
		if (!take_number(&s, MAX_SECONDS, &n) || !unit_seconds(*s))
			return false;
		total += n * unit_seconds(*s++);
		if (total > MAX_SECONDS)
			return false;
	} while (*s);
	*ret = total;
	return true;
}

int parse_duration(const char *s, int64_t *ret, struct err *err)
{
	int64_t seconds;

	if (!strcasecmp(s, "UNLIMITED") || !strcasecmp(s, "INFINITE") ||
	    !strcmp(s, "-1"))
		seconds = TIME_UNLIMITED;
	else if (!duration_of_fields(s, &seconds) &&
	         !duration_of_units(s, &seconds))
		return err_set(err, EINVAL,
		               "bad time '%s': use minutes, min:sec, h:m:s, "
		               "d-h:m:s, 90s, 12h, 3d or UNLIMITED",
		               s);
	*ret = seconds;
	return 0;
}

/* Parse a number of min_digits to max_digits digits that is at most max. */
static bool take_field(const char **s, int min_digits, int max_digits, int max,
                       int *ret)
{
	const char *start = *s;
	int64_t value;

	if (!take_number(s, max, &value) || *s - start < min_digits ||
	    *s - start > max_digits)
		return false;
	*ret = (int)value;
	return true;
}

/* Parse HH:MM[:SS][Z], to the end of the string. */
static bool take_clock(const char *s, struct tm *tm, bool *ret_utc)
{
	if (!take_field(&s, 1, 2, 23, &tm->tm_hour) || *s++ != ':' ||
	    !take_field(&s, 2, 2, 59, &tm->tm_min))
		return false;
	tm->tm_sec = 0;
	if (*s == ':') {
		s++;
		if (!take_field(&s, 2, 2, 59, &tm->tm_sec))
			return false;
	}
	*ret_utc = *s == 'Z';
	return !s[*ret_utc];
}

/* Parse YYYY-MM-DD[THH:MM[:SS][Z]]. */
static bool time_of_date(const char *s, int64_t *ret)
{
	struct tm tm = { .tm_isdst = -1 }, same;
	bool utc = false;

	if (!take_field(&s, 4, 4, 9999, &tm.tm_year) || *s++ != '-' ||
	    !take_field(&s, 2, 2, 12, &tm.tm_mon) || *s++ != '-' ||
	    !take_field(&s, 2, 2, 31, &tm.tm_mday))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	if (*s && (*s++ != 'T' || !take_clock(s, &tm, &utc)))
		return false;
	/* timegm() turns February 30th into a day of March: refuse
	 * such dates. */
	same = tm;
	*ret = timegm(&same);
	if (same.tm_mon != tm.tm_mon || same.tm_mday != tm.tm_mday)
		return false;
	if (!utc)
		*ret = mktime(&tm);
	return *ret >= 0;
}

/* Returns the seconds of a unit: a letter or one of Slurm's words. An empty
 * text means seconds; returns 0 for an unknown unit. */
static int unit_of_word(const char *s)
{
	static const char *const word[] = { "second", "minute", "hour", "day",
		                            "week" };

	if (!*s)
		return 1;
	if (!s[1])
		return unit_seconds(*s);
	for (size_t i = 0; i < ARRAY_SIZE(word); i++) {
		size_t len = strlen(word[i]);

		if (!strncasecmp(s, word[i], len) &&
		    (!s[len] || !strcasecmp(s + len, "s")))
			return unit_seconds(word[i][0]);
	}
	return 0;
}

/* Parse now, now+N[unit] or now-N[unit]. */
static bool time_of_now(const char *s, int64_t now, int64_t *ret)
{
	int64_t n = 0;

	if (strncasecmp(s, "now", 3))
		return false;
	s += 3;
	if (*s) {
		const char *p = s + 1;

		if ((*s != '+' && *s != '-') ||
		    !take_number(&p, MAX_SECONDS, &n) || !unit_of_word(p))
			return false;
		n *= unit_of_word(p) * (*s == '-' ? -1 : 1);
	}
	*ret = now + n;
	return *ret >= 0;
}

/* Parse @SECONDS, counted from 1970. */
static bool time_of_unix(const char *s, int64_t *ret)
{
	return *s++ == '@' && take_number(&s, MAX_SECONDS, ret) && !*s;
}

/* Returns the time at which the clock shows `clock`, `days` days after
 * `today`. */
static int64_t on_day(const struct tm *today, const struct tm *clock, int days)
{
	struct tm tm = *today;

	tm.tm_hour = clock->tm_hour;
	tm.tm_min = clock->tm_min;
	tm.tm_sec = clock->tm_sec;
	tm.tm_mday += days;
	tm.tm_isdst = -1;
	return mktime(&tm);
}

/* Parse HH:MM[:SS], midnight, noon, today, tomorrow or yesterday. */
static bool time_of_day(const char *s, int64_t now, int64_t *ret)
{
	const time_t t = now;
	struct tm today, clock = { 0 };
	bool utc = false;

	if (!localtime_r(&t, &today))
		return false;
	if (!strcasecmp(s, "noon"))
		clock.tm_hour = 12;
	else if (strcasecmp(s, "today") && strcasecmp(s, "midnight") &&
	         strcasecmp(s, "tomorrow") && strcasecmp(s, "yesterday") &&
	         (!take_clock(s, &clock, &utc) || utc))
		return false;
	*ret = on_day(&today, &clock, 0);
	if (!strcasecmp(s, "yesterday"))
		*ret = on_day(&today, &clock, -1);
	else if (!strcasecmp(s, "tomorrow") ||
	         (strcasecmp(s, "today") && *ret < now))
		*ret = on_day(&today, &clock, 1);
	return true;
}

int parse_time(const char *s, int64_t now, int64_t *ret, struct err *err)
{
	int64_t value;

	if (!time_of_unix(s, &value) && !time_of_now(s, now, &value) &&
	    !time_of_date(s, &value) && !time_of_day(s, now, &value))
		return err_set(err, EINVAL,
		               "bad time '%s': use HH:MM, YYYY-MM-DDTHH:MM, "
		               "now+2hours, tomorrow or @UNIX",
		               s);
	*ret = value;
	return 0;
}

/* Append a number with at least two digits. */
static void put_two(struct buf *out, int64_t n)
{
	if (n < 10)
		buf_addc(out, '0');
	buf_i64(out, n);
}

void format_duration(struct buf *out, int64_t seconds)
{
	if (seconds < 0) {
		buf_puts(out, "UNLIMITED");
		return;
	}
	if (seconds >= DAY) {
		buf_i64(out, seconds / DAY);
		buf_addc(out, '-');
		put_two(out, seconds % DAY / HOUR);
		buf_addc(out, ':');
		put_two(out, seconds % HOUR / MINUTE);
	} else if (seconds >= HOUR) {
		buf_i64(out, seconds / HOUR);
		buf_addc(out, ':');
		put_two(out, seconds % HOUR / MINUTE);
	} else {
		buf_i64(out, seconds / MINUTE);
	}
	buf_addc(out, ':');
	put_two(out, seconds % MINUTE);
}

void format_time(struct buf *out, int64_t unix_s)
{
	const time_t t = unix_s;
	struct tm tm;

	if (unix_s < 0 || !localtime_r(&t, &tm)) {
		buf_puts(out, "N/A");
		return;
	}
	buf_grew(out,
	         strftime(buf_room(out, 32), 32, "%Y-%m-%dT%H:%M:%S", &tm));
}
