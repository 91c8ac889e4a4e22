#include "libcommon/cron/period.h"

#include "libcommon/cron/civil.h"
#include "tests/unit/check.h"

/* Returns the unix time of 0:00 UTC on a day. */
static int64_t utc(int64_t year, int month, int day)
{
	return civil_to_days((struct civil){ year, month, day }) * 86400;
}

static struct zone *zone(const char *name)
{
	struct err err;
	struct zone *z = zone_load(name, &err);

	ck_assert_msg(z, "%s", err.text);
	return z;
}

START_TEST(periods_of_utc)
{
	int64_t at = utc(2026, 11, 22) + 3661, ret[2];

	period_of(NULL, PERIOD_HOUR, at, ret);
	ck_assert_int_eq(ret[0], utc(2026, 11, 22) + 3600);
	ck_assert_int_eq(ret[1], ret[0] + 3600);
	period_of(NULL, PERIOD_WEEK, at, ret);
	ck_assert_int_eq(ret[0], utc(2026, 11, 16));
	ck_assert_int_eq(ret[1], utc(2026, 11, 23));
	period_of(NULL, PERIOD_MONTH, at, ret);
	ck_assert_int_eq(ret[0], utc(2026, 11, 1));
	ck_assert_int_eq(ret[1], utc(2026, 12, 1));
	period_of(NULL, PERIOD_DAY, -1, ret);
	ck_assert_int_eq(ret[0], -86400);
	ck_assert_int_eq(ret[1], 0);
}
END_TEST

static const struct {
	const char *zone;
	int64_t at; /* an instant of the day */
	/* The beginning of the day, and its length in seconds. */
	int64_t begin, s;
	int hours;
} days[] = {
	{ "Europe/Berlin", 1806220800, 1806188400, 23 * 3600, 23 },
	{ "Europe/Berlin", 1824940800, 1824933600, 25 * 3600, 25 },
	{ "Asia/Kolkata", 1806220800, 1806172200, 24 * 3600, 24 },
	/* Days on which half an hour is skipped, and repeated. */
	{ "Australia/Lord_Howe", 1822491000, 1822483800, 84600, 24 },
	{ "Australia/Lord_Howe", 1806760800, 1806757200, 88200, 25 },
	/* Midnight is skipped: 2018-11-04 began at 01:00. */
	{ "America/Sao_Paulo", 1541343600, 1541300400, 23 * 3600, 23 },
};

START_TEST(days_are_divided_into_hours)
{
	struct zone *z = zone(days[_i].zone);
	int64_t day[2], hour[2];
	int n = 0;

	period_of(z, PERIOD_DAY, days[_i].at, day);
	ck_assert_int_eq(day[0], days[_i].begin);
	ck_assert_int_eq(day[1] - day[0], days[_i].s);
	for (int64_t at = day[0]; at < day[1]; at = hour[1], n++) {
		period_of(z, PERIOD_HOUR, at, hour);
		ck_assert_int_eq(hour[0], at);
		ck_assert_int_gt(hour[1], at);
	}
	ck_assert_int_eq(n, days[_i].hours);
	zone_free(z);
}
END_TEST

/* Each period must begin where the previous one ends. */
START_TEST(periods_have_no_gaps)
{
	static const char *const zones[] = { "Europe/Berlin",
		                             "Australia/Lord_Howe",
		                             "America/Sao_Paulo",
		                             "America/Havana", "Pacific/Apia" };
	struct zone *z = zone(zones[_i]);

	for (int p = PERIOD_HOUR; p <= PERIOD_WEEK; p++) {
		int64_t at = utc(2010, 1, 1), ret[2], same[2];

		for (period_of(z, (enum period)p, at, ret);
		     at < utc(2012, 3, 1); at = ret[1]) {
			period_of(z, (enum period)p, at, ret);
			ck_assert_int_le(ret[0], at);
			ck_assert_int_gt(ret[1], at);
			period_of(z, (enum period)p, ret[1] - 1, same);
			ck_assert_int_eq(same[0], ret[0]);
			ck_assert_int_eq(same[1], ret[1]);
			period_of(z, (enum period)p, ret[1], same);
			ck_assert_int_eq(same[0], ret[1]);
		}
	}
	zone_free(z);
}
END_TEST

SUITE(period)
{
	tcase_add_test(tc, periods_of_utc);
	tcase_add_loop_test(tc, days_are_divided_into_hours, 0,
	                    sizeof(days) / sizeof(*days));
	tcase_add_loop_test(tc, periods_have_no_gaps, 0, 5);
}
