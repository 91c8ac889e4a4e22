/* parse.c - parse and format numbers, sizes, signals */
#include "libcommon/parse.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "libcommon/mem.h"

bool take_number(const char **s, int64_t max, int64_t *ret)
{
	const char *p = *s;
	int64_t value = 0;

	if (!parse_is_digit(*p))
		return false;
	for (; parse_is_digit(*p); p++) {
		int digit = *p - '0';

		if (value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*s = p;
	*ret = value;
	return true;
}

/* Parse a fraction such as ".5", which is 500 if scale is 1000; 0 if *s has no
 * fraction. Digits below the scale are dropped, and *ret_dropped says so.
 * Returns false if no digit follows the dot. */
static bool take_fraction(const char **s, int64_t scale, int64_t *ret,
                          bool *ret_dropped)
{
	const char *p = *s;

	*ret = 0;
	*ret_dropped = false;
	if (*p != '.')
		return true;
	if (!parse_is_digit(*++p))
		return false;
	for (; parse_is_digit(*p); p++) {
		if (scale == 1)
			*ret_dropped = true;
		else
			*ret += (*p - '0') * (scale /= 10);
	}
	*s = p;
	return true;
}

/* Returns the power of two that the letter of a size stands for, 0 for bytes;
 * -1 if there is no such letter. */
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
	/* Round up, so that at least the requested size is provided. */
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

int parse_micro(const char *s, int64_t max_micro, int64_t *ret, struct err *err)
{
	const char *p = s;
	int64_t whole, part, value;
	bool dropped;
	struct buf max = { 0 };

	if (take_number(&p, (INT64_MAX - 999999) / 1000000, &whole) &&
	    take_fraction(&p, 1000000, &part, &dropped) && !dropped && !*p) {
		value = whole * 1000000 + part;
		if (value <= max_micro) {
			*ret = value;
			return 0;
		}
	}
	format_micro(&max, max_micro);
	err_set(err, EINVAL,
	        "bad number '%s': use a number from 0 to %s with at most six "
	        "decimals",
	        s, max.data);
	buf_free(&max);
	return -1;
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

void format_micro(struct buf *out, int64_t micro)
{
	int64_t rest = micro % 1000000;

	buf_i64(out, micro / 1000000);
	for (int64_t unit = 100000; rest; rest %= unit, unit /= 10) {
		if (unit == 100000)
			buf_addc(out, '.');
		buf_i64(out, rest / unit);
	}
}
