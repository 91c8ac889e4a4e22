/* period.c - hours, days, weeks and months of a time zone */
#include "libcommon/cron/period.h"

#include "libcommon/cron/civil.h"

enum { DAY_S = 86400, HOUR_S = 3600 };

static int64_t midnight(const struct zone *zone, int64_t days)
{
	int64_t local = days * DAY_S, at;

	if (!zone)
		return local;
	if (zone_first(zone, local, &at))
		return at;
	/* The clock skips this midnight: find the transition that does so. */
	at = zone_next(zone, local - 2 * DAY_S);
	while (at != ZONE_NEVER && at + zone_offset(zone, at) < local)
		at = zone_next(zone, at);
	return at;
}

/* Get the first day of the day, week or month that contains `day`, and that of
 * the next one, in days since 1970-01-01. */
static void days_of(enum period period, int64_t day, int64_t ret[2])
{
	struct civil c = civil_of_days(day);

	ret[0] = day;
	ret[1] = day + 1;
	if (period == PERIOD_WEEK) {
		ret[0] = day - (civil_weekday(day) + 6) % 7;
		ret[1] = ret[0] + 7;
	} else if (period == PERIOD_MONTH) {
		ret[0] = day - (c.day - 1);
		ret[1] = ret[0] + civil_month_days(c.year, c.month);
	}
}

static int64_t floor_day(int64_t local)
{
	return (local >= 0 ? local : local - (DAY_S - 1)) / DAY_S;
}

void period_of(const struct zone *zone, enum period period, int64_t at,
               int64_t ret[2])
{
	int64_t local = at + (zone ? zone_offset(zone, at) : 0);
	int64_t days[2] = { 0, floor_day(local) };

	do {
		/* A second round is needed only if the clock was set back
		 * over midnight. */
		days_of(period, days[1], days);
		ret[0] = midnight(zone, days[0]);
		ret[1] = midnight(zone, days[1]);
	} while (at >= ret[1]);
	if (period != PERIOD_HOUR)
		return;
	ret[0] += (at - ret[0]) / HOUR_S * HOUR_S;
	if (ret[1] > ret[0] + HOUR_S)
		ret[1] = ret[0] + HOUR_S;
}
