/* parse.c - text to values and back */
#include "libcommon/parse.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "libcommon/mem.h"

#define MAX_SECONDS (((int64_t)1 << 40) - 1)

enum { MINUTE = 60, HOUR = 3600, DAY = 86400, WEEK = 7 * DAY };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool take_number(const char **s, int64_t max, int64_t *ret)
{
	const char *p = *s;
	int64_t value = 0;

	if (!is_digit(*p))
		return false;
	for (; is_digit(*p); p++) {
		int digit = *p - '0';

		if (value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*s = p;
	*ret = value;
	return true;
}

/* Take ".5" as 500 of scale 1000; digits below the scale are dropped, and
 * *ret_dropped says that there were any.  Nothing at *s is 0. */
static bool take_fraction(const char **s, int64_t scale, int64_t *ret,
                          bool *ret_dropped)
{
	const char *p = *s;

	*ret = 0;
	*ret_dropped = false;
	if (*p != '.')
		return true;
	if (!is_digit(*++p))
		return false;
	for (; is_digit(*p); p++) {
		if (scale == 1)
			*ret_dropped = true;
		else
			*ret += (*p - '0') * (scale /= 10);
	}
	*s = p;
	return true;
}

/* min, min:sec, h:m:s, or with days in front d-h, d-h:m, d-h:m:s */
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

/* 90s, 1h30m */
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

/* What the letter of a size stands for; 0 is bytes, -1 no such letter. */
static int size_shift(char c)
{
	switch (c) {
	case '\0':
	case 'B':
	case 'b':
		return 0;
	case 'K':
	case 'k':
		return 10;
	case 'M':
	case 'm':
		return 20;
	case 'G':
	case 'g':
		return 30;
	case 'T':
	case 't':
		return 40;
	}
	return -1;
}

int parse_bytes(const char *s, char unit, int64_t *ret, struct err *err)
{
	const int64_t scale = 1000000;
	const char *p = s;
	int64_t whole, part;
	int shift;
	bool dropped;

	if (!take_number(&p, INT64_MAX, &whole) ||
	    !take_fraction(&p, scale, &part, &dropped))
		goto bad;
	shift = size_shift(*p ? *p : unit);
	if (shift < 0)
		goto bad;
	if (*p)
		p++;
	if (shift && (*p == 'B' || *p == 'b'))
		p++;
	if (*p || whole >= INT64_MAX >> shift)
		goto bad;
	/* Round up: what was asked for must be there. */
	part = ((part << shift) + scale - 1) / scale;
	*ret = (whole << shift) + part;
	return 0;
bad:
	return err_set(err, EINVAL,
	               "bad size '%s': use a number and K, M, G or T, like "
	               "512M or 1.5G",
	               s);
}

int parse_mib(const char *s, char unit, int64_t *ret, struct err *err)
{
	int64_t bytes;

	if (parse_bytes(s, unit, &bytes, err) < 0)
		return -1;
	*ret = (bytes >> 20) + ((bytes & ((1 << 20) - 1)) != 0);
	return 0;
}

int parse_int(const char *s, int64_t min, int64_t max, int64_t *ret,
              struct err *err)
{
	bool negative = *s == '-';
	const char *p = s + negative;
	int64_t value;

	if (!take_number(&p, INT64_MAX, &value) || *p)
		goto bad;
	if (negative)
		value = -value;
	if (value < min || value > max)
		goto bad;
	*ret = value;
	return 0;
bad:
	return err_set(err, EINVAL,
	               "bad number '%s': use a whole number from %lld to %lld",
	               s, (long long)min, (long long)max);
}

int parse_milli(const char *s, int64_t max_milli, int64_t *ret, struct err *err)
{
	const char *p = s;
	int64_t whole, part, value;
	bool dropped;
	struct buf max = { 0 };

	if (take_number(&p, (INT64_MAX - 999) / 1000, &whole) &&
	    take_fraction(&p, 1000, &part, &dropped) && !dropped && !*p) {
		value = whole * 1000 + part;
		if (value <= max_milli) {
			*ret = value;
			return 0;
		}
	}
	format_milli(&max, max_milli);
	err_set(err, EINVAL,
	        "bad number '%s': use a number from 0 to %s with at most "
	        "three decimals",
	        s, max.data);
	buf_free(&max);
	return -1;
}

int parse_bool(const char *s, bool *ret, struct err *err)
{
	static const char *const word[] = { "no",  "yes", "false", "true",
		                            "off", "on",  "0",     "1" };

	for (size_t i = 0; i < ARRAY_SIZE(word); i++) {
		if (!strcasecmp(s, word[i])) {
			*ret = i % 2;
			return 0;
		}
	}
	return err_set(err, EINVAL, "bad value '%s': use yes or no", s);
}

/* Take min_digits to max_digits digits, a value of at most max. */
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

/* HH:MM[:SS], and then the end or, with Z, a Z. */
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

/* YYYY-MM-DD[THH:MM[:SS][Z]] */
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
	/* February 30th becomes another day. */
	same = tm;
	*ret = timegm(&same);
	if (same.tm_mon != tm.tm_mon || same.tm_mday != tm.tm_mday)
		return false;
	if (!utc)
		*ret = mktime(&tm);
	return *ret >= 0;
}

/* Nothing is seconds; else a letter, or Slurm's word; 0: there is none. */
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

/* now, now+N[unit], now-N[unit] */
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

/* @SECONDS */
static bool time_of_unix(const char *s, int64_t *ret)
{
	return *s++ == '@' && take_number(&s, MAX_SECONDS, ret) && !*s;
}

/* The clock's time on the day of now, or so many days later. */
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

/* HH:MM[:SS], midnight, noon, today, tomorrow, yesterday */
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

int parse_signal(const char *s, int *ret, struct err *err)
{
	const char *name = strncasecmp(s, "SIG", 3) ? s : s + 3;
	const char *p = s;
	int64_t number;

	if (take_number(&p, SIGRTMAX, &number) && !*p && number > 0) {
		*ret = (int)number;
		return 0;
	}
	for (int i = 1; i < NSIG; i++) {
		const char *abbrev = sigabbrev_np(i);

		if (abbrev && !strcasecmp(name, abbrev)) {
			*ret = i;
			return 0;
		}
	}
	return err_set(err, EINVAL,
	               "bad signal '%s': use a name like TERM or USR1, or a "
	               "number from 1 to %d",
	               s, SIGRTMAX);
}

const char *signal_name(int signo)
{
	static _Thread_local char number[12];
	const char *abbrev = sigabbrev_np(signo);

	if (abbrev)
		return abbrev;
	snprintf(number, sizeof(number), "%d", signo);
	return number;
}

int parse_signal_spec(const char *s, int *ret_signo, int64_t *ret_before_s,
                      bool *ret_batch_only, struct err *err)
{
	bool batch = !strncasecmp(s, "B:", 2);
	const char *name = s + (batch ? 2 : 0);
	const char *at = strchr(name, '@');
	const char *p = at ? at + 1 : "";
	int64_t before = 60;
	char text[16];

	if ((at && (!take_number(&p, MAX_SECONDS, &before) || *p)) ||
	    snprintf(text, sizeof(text), "%.*s",
	             (int)(at ? at - name : (long)strlen(name)),
	             name) >= (int)sizeof(text))
		return err_set(err, EINVAL,
		               "bad signal '%s': use [B:]SIGNAL[@SECONDS], "
		               "like USR1@60",
		               s);
	if (parse_signal(text, ret_signo, err) < 0)
		return -1;
	*ret_before_s = before;
	*ret_batch_only = batch;
	return 0;
}

/* At least two digits. */
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

void format_mib(struct buf *out, int64_t mib)
{
	const char *unit = "MGT";
	int64_t rest = 0;

	for (; mib >= 1024 && unit[1]; unit++) {
		rest = mib % 1024;
		mib /= 1024;
	}
	buf_i64(out, mib);
	if (rest * 10 >= 1024) {
		buf_addc(out, '.');
		buf_i64(out, rest * 10 / 1024);
	}
	buf_addc(out, *unit);
}

void format_milli(struct buf *out, int64_t milli)
{
	int rest = (int)(milli % 1000);

	if (milli < 0) {
		buf_addc(out, '-');
		rest = -rest;
	}
	buf_i64(out, milli < 0 ? -(milli / 1000) : milli / 1000);
	for (int unit = 100; rest; rest %= unit, unit /= 10) {
		if (unit == 100)
			buf_addc(out, '.');
		buf_i64(out, rest / unit);
	}
}

bool glob_match(const char *pattern, const char *name)
{
	const char *star = NULL, *again = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			again = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			/* Let the last star take one character more. */
			pattern = star;
			name = ++again;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
