/* test_schedule.c - schedules of recurring work */
#include "libcommon/cron/schedule.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/rfc3339.h"
#include "tests/unit/check.h"
#include "tests/unit/dice.h"

/*
 * A day in a zone, the number of times that a schedule has on it, and the first
 * of them on the zone's clock.
 */
static const struct {
	const char *zone, *from, *to; /* to: midnight after it */
	const char *spec;
	int n;
	const char *first;
} days[] = {
#define BERLIN_SPRING                                 \
	"Europe/Berlin", "2027-03-28T00:00:00+01:00", \
	    "2027-03-29T00:00:00+02:00"
#define BERLIN_AUTUMN                                 \
	"Europe/Berlin", "2027-10-31T00:00:00+02:00", \
	    "2027-11-01T00:00:00+01:00"
#define NEW_YORK_SPRING                                  \
	"America/New_York", "2027-03-14T00:00:00-05:00", \
	    "2027-03-15T00:00:00-04:00"
#define NEW_YORK_AUTUMN                                  \
	"America/New_York", "2027-11-07T00:00:00-04:00", \
	    "2027-11-08T00:00:00-05:00"
#define LORD_HOWE_SPRING                                    \
	"Australia/Lord_Howe", "2027-10-03T00:00:00+10:30", \
	    "2027-10-04T00:00:00+11:00"
#define LORD_HOWE_AUTUMN                                    \
	"Australia/Lord_Howe", "2027-04-04T00:00:00+11:00", \
	    "2027-04-05T00:00:00+10:30"
	{ BERLIN_SPRING, "30 2 * * *", 1, "03:00+02:00" },
	{ BERLIN_SPRING, "0,30 2 * * *", 1, "03:00+02:00" },
	{ BERLIN_SPRING, "0 2,3 * * *", 1, "03:00+02:00" },
	{ BERLIN_SPRING, "*/15 2 * * *", 0, "" },
	{ BERLIN_SPRING, "0 * * * *", 23,
	  "00:00+01:00 01:00+01:00 03:00+02:00" },
	{ BERLIN_SPRING, "0 */2 * * *", 11, "00:00+01:00 04:00+02:00" },
	{ BERLIN_AUTUMN, "30 2 * * *", 1, "02:30+02:00" },
	{ BERLIN_AUTUMN, "*/15 2 * * *", 8, "02:00+02:00 02:15+02:00" },
	{ BERLIN_AUTUMN, "0 * * * *", 25, "00:00+02:00" },
	{ BERLIN_AUTUMN, "*/15 * * * *", 100, "00:00+02:00" },
	{ NEW_YORK_SPRING, "30 2 * * *", 1, "03:00-04:00" },
	{ NEW_YORK_AUTUMN, "30 1 * * *", 1, "01:30-04:00" },
	{ NEW_YORK_AUTUMN, "45 1 * * *", 1, "01:45-04:00" },
	{ LORD_HOWE_SPRING, "15 2 * * *", 1, "02:30+11:00" },
	{ LORD_HOWE_SPRING, "*/15 2 * * *", 2, "02:30+11:00 02:45+11:00" },
	{ LORD_HOWE_AUTUMN, "0 * * * *", 24, "00:00+11:00" },
	{ "UTC", "2027-02-01T00:00:00Z", "2027-03-01T00:00:00Z", "0 0 1 * 1", 4,
	  "00:00+00:00" },
	{ "UTC", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", "0 0 13 * 5",
	  4, "00:00+00:00" },
	{ "UTC", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", "0 0 */13 * 5",
	  1, "00:00+00:00" },
	{ "UTC", "2026-11-01T00:00:00Z", "2026-11-08T00:00:00Z",
	  "0 9-17/4 * * mon-Fri", 15, "09:00+00:00 13:00+00:00" },
	{ "UTC", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "@yearly", 1,
	  "00:00+00:00" },
	{ "UTC", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "@weekly", 52,
	  "00:00+00:00" },
	{ "UTC", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "0 0 * * 7",
	  52, "00:00+00:00" },
	{ "Pacific/Apia", "2011-12-29T00:00:00-10:00",
	  "2012-01-01T00:00:00+14:00", "0 12 * * *", 3,
	  "12:00-10:00 00:00+14:00 12:00+14:00" },
};

static int64_t at(const char *text)
{
	int64_t us;
	struct err err;

	ck_assert_msg(!rfc3339_parse(text, &us, &err), "%s", err.text);
	return us / 1000000;
}

START_TEST(a_day)
{
	struct err err;
	struct zone *zone = zone_load(days[_i].zone, &err);
	int64_t to = at(days[_i].to), t = at(days[_i].from) - 1;
	struct schedule s;
	struct buf got = { 0 };
	int n = 0;

	ck_assert_msg(zone != NULL, "%s", err.text);
	ck_assert_msg(!schedule_parse(&s, days[_i].spec, &err), "%s", err.text);
	while ((t = schedule_next(&s, zone, 0, t)) < to) {
		char text[ZONE_TEXT];

		zone_format(zone, t, text);
		buf_printf(&got, "%s%.5s%s", n++ ? " " : "", text + 11,
		           text + 19);
	}
	buf_puts(&got, "");
	ck_assert_msg(
	    n == days[_i].n && !strncmp(got.data ? got.data : "",
	                                days[_i].first, strlen(days[_i].first)),
	    "%s on %s: %d: %s", days[_i].spec, days[_i].from, n, got.data);
	buf_free(&got);
	zone_free(zone);
}
END_TEST

START_TEST(by_number)
{
	struct err err;
	struct zone *zone = zone_load("Europe/Berlin", &err);
	struct schedule s;

	ck_assert(!schedule_parse(&s, "30 2 * * *", &err));
	ck_assert_int_eq(schedule_next(&s, zone, 0, 1806195599), 1806195600);
	ck_assert_int_eq(schedule_next(&s, zone, 0, 1824942599), 1824942600);
	ck_assert_int_eq(schedule_next(&s, zone, 0, 1824942600), 1825032600);
	zone_free(zone);
}
END_TEST

START_TEST(every)
{
	struct schedule s;
	struct err err;

	ck_assert(!schedule_parse(&s, "@every 90m", &err));
	ck_assert_int_eq(schedule_next(&s, NULL, 1000, 0), 6400);
	ck_assert_int_eq(schedule_next(&s, NULL, 1000, 1000), 6400);
	ck_assert_int_eq(schedule_next(&s, NULL, 1000, 6399), 6400);
	ck_assert_int_eq(schedule_next(&s, NULL, 1000, 6400), 11800);
}
END_TEST

static const struct {
	const char *spec, *error;
} refused[] = {
	{ "", "has 0 fields, not 5" },
	{ "* * * *", "has 4 fields, not 5" },
	{ "* * * * * *", "has 6 fields, not 5" },
	{ "60 * * * *", "minute '60': give 0-59" },
	{ "* 24 * * *", "hour '24': give 0-23" },
	{ "* * 0 * *", "day of month '0': give 1-31" },
	{ "* * 32 * *", "day of month '32'" },
	{ "* * * 13 *", "month '13'" },
	{ "* * * janu *", "month 'janu'" },
	{ "* * * * 8", "day of week '8'" },
	{ "* * * * fry", "day of week 'fry'" },
	{ "5-1 * * * *", "minute '5-1'" },
	{ "*/0 * * * *", "minute '*/0'" },
	{ "*/x * * * *", "minute '*/x'" },
	{ "1,,2 * * * *", "minute '1,,2'" },
	{ "1, * * * *", "minute '1,'" },
	{ ",1 * * * *", "minute ',1'" },
	{ "-1 * * * *", "minute '-1'" },
	{ "1- * * * *", "minute '1-'" },
	{ "** * * * *", "minute '**'" },
	{ "00000000000000000001 * * * *", "minute '0000" },
	{ "* * L * *", "day of month 'L'" },
	{ "* * ? * *", "day of month '?'" },
	{ "* * * * 5#3", "day of week '5#3'" },
	{ "H * * * *", "minute 'H'" },
	{ "0 0 1 jan/2 *", "month 'jan/2'" },
	{ "0 0 * * mon-fri/2", "day of week 'mon-fri/2'" },
	{ "0 0 1 1-mar/2 *", "month '1-mar/2'" },
	{ "0 0 0 1 1 *", "has 6 fields, not 5" },
	{ "0 0 30 2 *", "has such a day of month" },
	{ "0 0 31 4,6,9,11 *", "has such a day of month" },
	{ "@reboot", "only @hourly" },
	{ "@dailyx", "only @hourly" },
	{ "@daily x", "only @hourly" },
	{ "@every", "" },
	{ "@every 0", "@every needs a time above 0" },
	{ "@every UNLIMITED", "@every needs a time above 0" },
};

START_TEST(refuse)
{
	struct schedule s;
	struct err err;

	ck_assert_msg(schedule_parse(&s, refused[_i].spec, &err) < 0, "'%s'",
	              refused[_i].spec);
	ck_assert_msg(strstr(err.text, refused[_i].error) != NULL, "%s",
	              err.text);
}
END_TEST

/* --- a naive walk ------------------------------------------------------ */

static bool matches(const struct schedule *s, int64_t local)
{
	static struct tm tm;
	static int64_t day = -1; /* the day for which tm was made */
	int64_t minute = local / 60 % 1440;
	bool in_month, in_week;

	if (day != local / 86400) {
		day = local / 86400;
		gmtime_r(&(time_t){ local }, &tm);
	}
	in_month = s->days >> tm.tm_mday & 1;
	in_week = s->weekdays >> tm.tm_wday & 1;
	return s->minutes >> minute % 60 & 1 && s->hours >> minute / 60 & 1 &&
	       s->months >> (tm.tm_mon + 1) & 1 &&
	       (s->either_day ? in_month || in_week : in_month && in_week);
}

enum { LOOK = 40 * 1440, WALK = 4 * 1440, ROUNDS = 1000 };

/* Returns the first minute within 40 days at which the clock changes;
 * SCHEDULE_NEVER if it does not. */
static int64_t change_of(const struct zone *zone, int64_t begin)
{
	for (int64_t t = begin; t < begin + LOOK * 60; t += 60)
		if (zone_offset(zone, t) != zone_offset(zone, t - 60))
			return t;
	return SCHEDULE_NEVER;
}

/*
 * Whether a schedule has a time at a minute of a walk through all minutes of
 * four days. An interval has one whenever the clock matches. A fixed schedule
 * has one only when the clock shows a matching time for the first time, or
 * jumps over it; *seen is the latest local time so far.
 */
static bool walk_due(const struct schedule *s, int64_t local, int64_t *seen)
{
	bool due = false;

	if (!s->fixed)
		return matches(s, local);
	for (; *seen < local; *seen += 60)
		due = due || matches(s, *seen + 60);
	return due;
}

static void random_spec(struct dice *d, char *ret, size_t size)
{
	const char *weekday = PICK(d, "*", "*", "*", "sun", "0-3", "7", "*/2");
	const char *month = PICK(d, "*", "*", "*", "3,10,11,4", "*/2");
	const char *day = PICK(d, "*", "*", "*", "1", "*/2", "28-31", "13");
	const char *hour =
	    PICK(d, "2", "1", "*", "*/2", "3", "0", "1-3", "23", "2,3");
	const char *minute =
	    PICK(d, "0", "30", "*/15", "*", "5-50/9", "59", "0,30", "*/7");

	snprintf(ret, size, "%s %s %s %s %s", minute, hour, day, month,
	         weekday);
}

START_TEST(like_a_naive_walk)
{
	static const struct {
		const char *zone, *from;
	} when[] = {
		{ "Europe/Berlin", "2027-03-10T00:00:00Z" },
		{ "Europe/Berlin", "2027-10-10T00:00:00Z" },
		{ "America/New_York", "2027-02-20T05:00:00Z" },
		{ "America/New_York", "2051-10-20T05:00:00Z" },
		{ "Australia/Lord_Howe", "2027-09-20T00:00:00Z" },
		{ "Australia/Lord_Howe", "2027-03-20T00:00:00Z" },
		{ "Pacific/Apia", "2011-12-15T00:00:00Z" },
		{ "Africa/Casablanca", "2027-02-01T00:00:00Z" },
		{ "Antarctica/Troll", "2027-03-10T00:00:00Z" },
		{ "Asia/Kathmandu", "2027-03-10T00:15:00Z" },
	};
	struct dice d = { 99 + (uint64_t)_i };
	struct err err;
	struct zone *zone = zone_load(when[_i].zone, &err);
	int64_t from = at(when[_i].from), change;

	ck_assert_msg(zone != NULL, "%s", err.text);
	change = change_of(zone, from);
	ck_assert_int_eq(change == SCHEDULE_NEVER,
	                 !strcmp(when[_i].zone, "Asia/Kathmandu"));
	for (int round = 0; round < ROUNDS; round++) {
		int64_t begin = change == SCHEDULE_NEVER
		                    ? from + roll(&d, LOOK) * 60
		                    : change - roll(&d, WALK) * 60;
		int64_t seen = begin - 60 + zone_offset(zone, begin - 60);
		int64_t next;
		struct schedule s;
		char spec[64];

		random_spec(&d, spec, sizeof(spec));
		if (schedule_parse(&s, spec, &err) < 0)
			continue;
		next = schedule_next(&s, zone, 0, begin - 1);
		for (int64_t t = begin; t < begin + WALK * 60; t += 60) {
			int64_t local = t + zone_offset(zone, t);
			bool due = walk_due(&s, local, &seen);

			if (due != (next == t))
				ck_abort_msg("%s '%s' at %lld: %d, next %lld",
				             when[_i].zone, spec, (long long)t,
				             due, (long long)next);
			if (due)
				next = schedule_next(&s, zone, 0, t);
		}
	}
	zone_free(zone);
}
END_TEST

/* Count the times by calling schedule_next() for each. */
static uint64_t count_slowly(const struct schedule *s, const struct zone *zone,
                             int64_t after, int64_t to, int64_t *ret_last)
{
	int64_t next = schedule_next(s, zone, 0, after);
	uint64_t n = 0;

	*ret_last = SCHEDULE_NEVER;
	for (; next <= to; n++) {
		*ret_last = next;
		next = schedule_next(s, zone, 0, next);
	}
	return n;
}

START_TEST(counted)
{
	static const char *const zones[] = {
		"Europe/Berlin",  "America/New_York",  "Australia/Lord_Howe",
		"Pacific/Apia",   "Africa/Casablanca", "Antarctica/Troll",
		"Asia/Kathmandu",
	};
	int64_t begin =
	    at(_i == 3 ? "2011-09-20T00:00:00Z" : "2027-02-10T00:00:00Z");
	struct dice d = { 7 + (uint64_t)_i };
	struct err err;
	struct zone *zone = zone_load(zones[_i], &err);

	ck_assert_msg(zone != NULL, "%s", err.text);
	for (int round = 0; round < 400; round++) {
		int64_t after = begin + roll(&d, 300 * 86400);
		int64_t to = after + roll(&d, 10 * 86400), last, want;
		struct schedule s;
		char spec[64];
		uint64_t n;

		random_spec(&d, spec, sizeof(spec));
		if (round % 10 == 0)
			snprintf(spec, sizeof(spec), "@every 47m");
		if (schedule_parse(&s, spec, &err) < 0)
			continue;
		n = count_slowly(&s, zone, after, to, &want);
		if (schedule_count(&s, zone, 0, after, to, &last) != n ||
		    last != want)
			ck_abort_msg("%s '%s' after %lld to %lld: %llu, want "
			             "%llu; last %lld, want %lld",
			             zones[_i], spec, (long long)after,
			             (long long)to,
			             (unsigned long long)schedule_count(
					 &s, zone, 0, after, to, &last),
			             (unsigned long long)n, (long long)last,
			             (long long)want);
	}
	zone_free(zone);
}
END_TEST

SUITE(schedule)
{
	tcase_add_loop_test(tc, a_day, 0, ARRAY_SIZE(days));
	tcase_add_test(tc, by_number);
	tcase_add_test(tc, every);
	tcase_add_loop_test(tc, refuse, 0, ARRAY_SIZE(refused));
	tcase_add_loop_test(tc, like_a_naive_walk, 0, 10);
	tcase_add_loop_test(tc, counted, 0, 7);
}
