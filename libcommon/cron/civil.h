/*
 * civil.h - days and dates of the Gregorian calendar
 *
 * After Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
 */
#ifndef LIBCOMMON_CRON_CIVIL_H
#define LIBCOMMON_CRON_CIVIL_H

#include <stdint.h>

struct civil {
	int64_t year;
	int month, day; /* from 1 */
};

/* Returns the days since 1970-01-01. c.day may be past the end of the month. */
static inline int64_t civil_to_days(struct civil c)
{
	int64_t y = c.year - (c.month <= 2), era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400;
	int64_t of_year =
	    (153 * (c.month + (c.month > 2 ? -3 : 9)) + 2) / 5 + c.day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
	       of_year - 719468;
}

static inline struct civil civil_of_days(int64_t days)
{
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t d = z - era * 146097;
	int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
	int64_t of_year = d - (365 * y + y / 4 - y / 100);
	int m = (int)((5 * of_year + 2) / 153);
	struct civil c = { .year = y + era * 400,
		           .month = m < 10 ? m + 3 : m - 9,
		           .day = (int)(of_year - (153 * m + 2) / 5 + 1) };

	c.year += c.month <= 2;
	return c;
}

static inline int civil_month_days(int64_t year, int month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30,
		                        31, 31, 30, 31, 30, 31 };
	int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* Returns the weekday of a day since 1970-01-01; 0 is Sunday. */
static inline int civil_weekday(int64_t days)
{
	return (int)(((days + 4) % 7 + 7) % 7);
}

#endif
