/* test_parse.c - parse and format values */
#include "libcommon/parse.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define BAD INT64_MIN /* must be refused */

/* Saturday, 2026-11-21T18:30:00 in ZONE */
#define NOW  1795282200
#define ZONE "CET-1CEST,M3.5.0,M10.5.0/3"

typedef int parse_fn(const char *s, int64_t *ret, struct err *err);

static int bytes(const char *s, int64_t *ret, struct err *err)
{
	return parse_bytes(s, 0, ret, err);
}

static int megabytes(const char *s, int64_t *ret, struct err *err)
{
	return parse_bytes(s, 'M', ret, err);
}

static int mib(const char *s, int64_t *ret, struct err *err)
{
	return parse_mib(s, 'M', ret, err);
}

static int small_int(const char *s, int64_t *ret, struct err *err)
{
	return parse_int(s, -20, 19, ret, err);
}

static int any_int(const char *s, int64_t *ret, struct err *err)
{
	return parse_int(s, -INT64_MAX, INT64_MAX, ret, err);
}

static int milli(const char *s, int64_t *ret, struct err *err)
{
	return parse_milli(s, 64000, ret, err);
}

static int moment(const char *s, int64_t *ret, struct err *err)
{
	return parse_time(s, NOW, ret, err);
}

static int yes_or_no(const char *s, int64_t *ret, struct err *err)
{
	bool yes;

	if (parse_bool(s, &yes, err) < 0)
		return -1;
	*ret = yes;
	return 0;
}

static int signal_of(const char *s, int64_t *ret, struct err *err)
{
	int signo;

	if (parse_signal(s, &signo, err) < 0)
		return -1;
	*ret = signo;
	return 0;
}

#define DAY  86400
#define HOUR 3600

static const struct {
	parse_fn *parse;
	const char *text;
	int64_t want;
} values[] = {
	{ parse_duration, "0", 0 },
	{ parse_duration, "90", 90 * 60 },
	{ parse_duration, "1:30", 90 },
	{ parse_duration, "0:59", 59 },
	{ parse_duration, "1:02:03", 3723 },
	{ parse_duration, "100:00:00", 100 * HOUR },
	{ parse_duration, "0:90", 90 },
	{ parse_duration, "0:0:61", 61 },
	{ parse_duration, "2-3", 2 * DAY + 3 * HOUR },
	{ parse_duration, "1-2:3", DAY + 2 * HOUR + 180 },
	{ parse_duration, "1-02:03:04", DAY + 2 * HOUR + 184 },
	{ parse_duration, "90s", 90 },
	{ parse_duration, "45m", 2700 },
	{ parse_duration, "12h", 12 * HOUR },
	{ parse_duration, "3d", 3 * DAY },
	{ parse_duration, "2w", 14 * DAY },
	{ parse_duration, "1h30m", 5400 },
	{ parse_duration, "UNLIMITED", TIME_UNLIMITED },
	{ parse_duration, "infinite", TIME_UNLIMITED },
	{ parse_duration, "-1", TIME_UNLIMITED },
	{ parse_duration, "1099511627775s", ((int64_t)1 << 40) - 1 },
	{ parse_duration, "1099511627776s", BAD },
	{ parse_duration, "18446744073709551617", BAD },
	{ parse_duration, "18325193797m", BAD },
	{ parse_duration, "999999999999w", BAD },
	{ parse_duration, "999999999999:0:0", BAD },
	{ parse_duration, "", BAD },
	{ parse_duration, " 5", BAD },
	{ parse_duration, "5 ", BAD },
	{ parse_duration, "+5", BAD },
	{ parse_duration, "-5", BAD },
	{ parse_duration, "-2s", BAD },
	{ parse_duration, "1:-2", BAD },
	{ parse_duration, "5x", BAD },
	{ parse_duration, "5mm", BAD },
	{ parse_duration, "1h30", BAD },
	{ parse_duration, "1:2:3:4", BAD },
	{ parse_duration, "1-2:3:4:5", BAD },
	{ parse_duration, "1-", BAD },
	{ parse_duration, "1-2-3", BAD },
	{ parse_duration, ":", BAD },
	{ parse_duration, "1:", BAD },
	{ parse_duration, "1.5", BAD },
	{ parse_duration, "0x10", BAD },
	{ parse_duration, "unlimited1", BAD },

	{ bytes, "0", 0 },
	{ bytes, "512", 512 },
	{ bytes, "1K", 1024 },
	{ bytes, "1024kb", 1 << 20 },
	{ bytes, "16M", 16 << 20 },
	{ bytes, "1.5G", 1610612736 },
	{ bytes, "0.1M", 104858 },
	{ bytes, "1.33333333333G", 1431655408 },
	{ bytes, "8388606T", (int64_t)8388606 << 40 },
	{ bytes, "8388608T", BAD },
	{ bytes, "9223372036854775808", BAD },
	{ bytes, "99999999999999999999K", BAD },
	{ bytes, "", BAD },
	{ bytes, "M", BAD },
	{ bytes, "-1M", BAD },
	{ bytes, "+1M", BAD },
	{ bytes, " 1M", BAD },
	{ bytes, "1 M", BAD },
	{ bytes, "1M ", BAD },
	{ bytes, "1.M", BAD },
	{ bytes, ".5M", BAD },
	{ bytes, "1.2.3M", BAD },
	{ bytes, "1MM", BAD },
	{ bytes, "1BB", BAD },
	{ bytes, "1X", BAD },
	{ bytes, "1e3", BAD },
	{ megabytes, "2", 2 << 20 },
	{ megabytes, "2B", 2 },
	{ megabytes, "2KB", 2048 },
	{ mib, "512", 512 },
	{ mib, "1K", 1 },
	{ mib, "1025K", 2 },
	{ mib, "1.5g", 1536 },
	{ mib, "2T", 2 << 20 },
	{ mib, "lots", BAD },

	{ small_int, "-20", -20 },
	{ small_int, "19", 19 },
	{ small_int, "007", 7 },
	{ small_int, "-21", BAD },
	{ small_int, "20", BAD },
	{ small_int, "+1", BAD },
	{ small_int, "--1", BAD },
	{ small_int, "-", BAD },
	{ small_int, "", BAD },
	{ small_int, "1.0", BAD },
	{ small_int, "1 ", BAD },
	{ any_int, "9223372036854775807", INT64_MAX },
	{ any_int, "-9223372036854775807", -INT64_MAX },
	{ any_int, "9223372036854775808", BAD },
	{ any_int, "-9223372036854775808", BAD },

	{ milli, "0", 0 },
	{ milli, "0.5", 500 },
	{ milli, "1.001", 1001 },
	{ milli, "64", 64000 },
	{ milli, "64.001", BAD },
	{ milli, "0.0005", BAD },
	{ milli, "9223372036854775807", BAD },
	{ milli, "9223372036854775.808", BAD },
	{ milli, "-1", BAD },
	{ milli, "1.", BAD },
	{ milli, ".5", BAD },
	{ milli, "", BAD },
	{ milli, "half", BAD },

	{ yes_or_no, "yes", 1 },
	{ yes_or_no, "TRUE", 1 },
	{ yes_or_no, "on", 1 },
	{ yes_or_no, "1", 1 },
	{ yes_or_no, "no", 0 },
	{ yes_or_no, "False", 0 },
	{ yes_or_no, "off", 0 },
	{ yes_or_no, "0", 0 },
	{ yes_or_no, "2", BAD },
	{ yes_or_no, "y", BAD },
	{ yes_or_no, "", BAD },

	{ moment, "now", NOW },
	{ moment, "now+90", NOW + 90 },
	{ moment, "now+5m", NOW + 300 },
	{ moment, "now+2hours", NOW + 2 * HOUR },
	{ moment, "NOW+1Day", NOW + DAY },
	{ moment, "now+1week", NOW + 7 * DAY },
	{ moment, "now-1h", NOW - HOUR },
	{ moment, "now+", BAD },
	{ moment, "now+1fortnight", BAD },
	{ moment, "now+1hourss", BAD },
	{ moment, "now+-1", BAD },
	{ moment, "now*2", BAD },
	{ moment, "now-9999999999", BAD },
	{ moment, "now+99999999999999999999", BAD },
	{ moment, "18:31", NOW + 60 },
	{ moment, "18:30", NOW },
	{ moment, "18:29:59", NOW + DAY - 1 },
	{ moment, "9:05", NOW + 14 * HOUR + 35 * 60 },
	{ moment, "24:00", BAD },
	{ moment, "12:60", BAD },
	{ moment, "12:5", BAD },
	{ moment, "12:05:61", BAD },
	{ moment, "12:05Z", BAD },
	{ moment, "012:05", BAD },
	{ moment, "midnight", NOW + 5 * HOUR + 1800 },
	{ moment, "noon", NOW + 17 * HOUR + 1800 },
	{ moment, "today", NOW - 18 * HOUR - 1800 },
	{ moment, "tomorrow", NOW + 5 * HOUR + 1800 },
	{ moment, "yesterday", NOW + 5 * HOUR + 1800 - 48 * HOUR },
	{ moment, "2026-11-21", NOW - 18 * HOUR - 1800 },
	{ moment, "2026-11-21T18:30", NOW },
	{ moment, "2026-11-21T18:30:01", NOW + 1 },
	{ moment, "2026-11-21T17:30Z", NOW },
	{ moment, "2026-06-01T12:00", 1780308000 }, /* summer time */
	{ moment, "2024-02-29T00:00:00Z", 1709164800 },
	{ moment, "2023-02-29", BAD },
	{ moment, "2026-13-01", BAD },
	{ moment, "2026-00-10", BAD },
	{ moment, "2026-04-31", BAD },
	{ moment, "2026-4-3", BAD },
	{ moment, "1969-01-01", BAD },
	{ moment, "2026-11-21 18:30", BAD },
	{ moment, "2026-11-21T", BAD },
	{ moment, "2026-11-21T18:30+01", BAD },
	{ moment, "@0", 0 },
	{ moment, "@1795282200", NOW },
	{ moment, "@-1", BAD },
	{ moment, "@", BAD },
	{ moment, "", BAD },
	{ moment, "soon", BAD },

	{ signal_of, "USR1", SIGUSR1 },
	{ signal_of, "SIGUSR1", SIGUSR1 },
	{ signal_of, "sigterm", SIGTERM },
	{ signal_of, "9", SIGKILL },
	{ signal_of, "64", 64 },
	{ signal_of, "0", BAD },
	{ signal_of, "65", BAD },
	{ signal_of, "-9", BAD },
	{ signal_of, "SIG9", BAD },
	{ signal_of, "USR3", BAD },
	{ signal_of, "", BAD },
};

START_TEST(value)
{
	const char *text = values[_i].text;
	int64_t got = 77;
	struct err err = { 0 };
	char quoted[100];
	int rc = values[_i].parse(text, &got, &err);

	if (values[_i].want != BAD) {
		ck_assert_msg(!rc && got == values[_i].want,
		              "row %d, '%s': got %lld (%s)", _i, text,
		              (long long)got, err.text);
		return;
	}
	/* The error must quote the value, and *ret must not be written. */
	snprintf(quoted, sizeof(quoted), "'%s'", text);
	ck_assert_msg(rc == -1 && got == 77, "row %d, '%s': taken as %lld", _i,
	              text, (long long)got);
	ck_assert_int_eq(err.code, EINVAL);
	ck_assert_msg(strstr(err.text, quoted) != NULL, "%s", err.text);
}
END_TEST

START_TEST(numbers_name_their_bounds)
{
	struct err err;
	int64_t got;

	ck_assert_int_eq(parse_int("0", 1, 65536, &got, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "from 1 to 65536"));
	ck_assert_int_eq(parse_milli("9", 8500, &got, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "from 0 to 8.5"));
}
END_TEST

static const struct {
	const char *text;
	int signo, before_s; /* signo 0: refused */
	bool batch;
} specs[] = {
	{ "USR1", SIGUSR1, 60, false },
	{ "USR1@120", SIGUSR1, 120, false },
	{ "B:INT@30", SIGINT, 30, true },
	{ "b:10@0", SIGUSR1, 0, true },
	{ "R:USR1", 0, 0, false },
	{ "USR1@", 0, 0, false },
	{ "USR1@-5", 0, 0, false },
	{ "USR1@1m", 0, 0, false },
	{ "@60", 0, 0, false },
	{ "B:", 0, 0, false },
	{ "", 0, 0, false },
	{ "SIGAVERYLONGNAMETHATNOBODYHAS@5", 0, 0, false },
};

START_TEST(signal_spec)
{
	struct err err;
	int64_t before_s = -1;
	int signo = 0;
	bool batch = false;
	int rc =
	    parse_signal_spec(specs[_i].text, &signo, &before_s, &batch, &err);

	ck_assert_msg(rc == (specs[_i].signo ? 0 : -1), "%s", specs[_i].text);
	ck_assert_int_eq(signo, specs[_i].signo);
	if (rc == 0) {
		ck_assert_int_eq(before_s, specs[_i].before_s);
		ck_assert_int_eq(batch, specs[_i].batch);
	}
}
END_TEST

START_TEST(signals_have_names)
{
	ck_assert_str_eq(signal_name(SIGUSR1), "USR1");
	ck_assert_str_eq(signal_name(SIGKILL), "KILL");
	ck_assert_str_eq(signal_name(40), "40");
}
END_TEST

typedef void put_fn(struct buf *out, int64_t value);

static const struct {
	put_fn *format;
	int64_t value;
	const char *want;
} formats[] = {
	{ format_duration, 0, "0:00" },
	{ format_duration, 59, "0:59" },
	{ format_duration, 600, "10:00" },
	{ format_duration, 3723, "1:02:03" },
	{ format_duration, DAY - 1, "23:59:59" },
	{ format_duration, 93784, "1-02:03:04" },
	{ format_duration, TIME_UNLIMITED, "UNLIMITED" },
	{ format_time, NOW, "2026-11-21T18:30:00" },
	{ format_time, 0, "1970-01-01T01:00:00" },
	{ format_time, -1, "N/A" },
	{ format_time, INT64_MAX, "N/A" },
	{ format_mib, 0, "0M" },
	{ format_mib, 512, "512M" },
	{ format_mib, 1536, "1.5G" },
	{ format_mib, 2048, "2G" },
	{ format_mib, 1 << 20, "1T" },
	{ format_mib, (int64_t)1 << 43, "8388608T" },
	{ format_milli, 0, "0" },
	{ format_milli, 1500, "1.5" },
	{ format_milli, 2000, "2" },
	{ format_milli, 1, "0.001" },
	{ format_milli, 1010, "1.01" },
	{ format_milli, -500, "-0.5" },
};

START_TEST(format)
{
	struct buf out = { 0 };

	formats[_i].format(&out, formats[_i].value);
	ck_assert_str_eq(out.data, formats[_i].want);
	buf_free(&out);
}
END_TEST

static const struct {
	const char *pattern, *name;
	bool fits;
} globs[] = {
	{ "train", "train", true },
	{ "train", "trains", false },
	{ "train*", "train", true },
	{ "*", "", true },
	{ "*", "anything", true },
	{ "", "", true },
	{ "", "a", false },
	{ "n?", "n1", true },
	{ "n?", "n", false },
	{ "n?", "n12", false },
	{ "*-7", "rack-77-7", true },
	{ "a*b*c", "a-b-b-c", true },
	{ "a*b*c", "a-c-b", false },
	{ "[ab]", "a", false },
	{ "[ab]", "[ab]", true },
	{ "a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
};

START_TEST(glob)
{
	ck_assert_msg(glob_match(globs[_i].pattern, globs[_i].name) ==
	                  globs[_i].fits,
	              "'%s' and '%s'", globs[_i].pattern, globs[_i].name);
}
END_TEST

static void set_zone(void)
{
	setenv("TZ", ZONE, 1);
}

SUITE(parse)
{
	tcase_add_checked_fixture(tc, set_zone, NULL);
	tcase_add_loop_test(tc, value, 0, ARRAY_SIZE(values));
	tcase_add_test(tc, numbers_name_their_bounds);
	tcase_add_loop_test(tc, signal_spec, 0, ARRAY_SIZE(specs));
	tcase_add_test(tc, signals_have_names);
	tcase_add_loop_test(tc, format, 0, ARRAY_SIZE(formats));
	tcase_add_loop_test(tc, glob, 0, ARRAY_SIZE(globs));
}
