/*
 * schedule.h - the times of recurring work: "30 2 * * mon-fri", "@every 90m"
 *
 * Five fields as crontab(5) has them, matched against the local clock of a
 * zone.  A schedule is fixed if neither its minute nor its hour field begins
 * with '*'; any other is an interval.  Its instants are a set: for each local
 * minute that matches,
 *
 *	interval   every instant at which the clock shows that minute
 *	fixed      the first such instant; if the clock skips the minute, the
 *	           instant at which the gap ends
 *
 * so a fixed schedule runs once on the days of the change, and an interval
 * keeps its pace.
 */
#ifndef LIBCOMMON_CRON_SCHEDULE_H
#define LIBCOMMON_CRON_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/cron/zone.h"
#include "libcommon/err.h"

/* A schedule must have a time within this many years, for 29 February: 2096 and
 * 2104 are 8 years apart. */
#define SCHEDULE_YEARS 8
#define SCHEDULE_NEVER INT64_MAX

struct schedule {
	uint64_t minutes;             /* bit n: minute n */
	uint32_t hours, days, months; /* likewise; days and months from 1 */
	uint8_t weekdays;             /* bit 0: Sunday */
	bool either_day; /* both day fields are restricted: one must match */
	bool fixed;
	int64_t every_s; /* of @every; 0: use the fields */
};

/*
 * Parse five fields, a macro (@hourly @daily @midnight @weekly @monthly
 * @yearly @annually) or "@every TIME".
 * Fails with EINVAL, naming the field; also if no date can ever match.
 */
int schedule_parse(struct schedule *ret, const char *text, struct err *err);

/*
 * Returns the first time after an instant, or SCHEDULE_NEVER if there is none
 * within SCHEDULE_YEARS.  created is the instant that @every counts from; it
 * uses no zone.
 */
int64_t schedule_next(const struct schedule *schedule, const struct zone *zone,
                      int64_t created, int64_t after);

/* Returns the shortest interval between two of its times, on a day without a
 * change of the clock and the day after, in seconds. */
int64_t schedule_period(const struct schedule *schedule);

/*
 * Returns how many times there are after one instant and up to another, and
 * gets the last of them, or SCHEDULE_NEVER. Counted by days, not one by one: a
 * year of minutes takes less than a millisecond.
 */
uint64_t schedule_count(const struct schedule *schedule,
                        const struct zone *zone, int64_t created, int64_t after,
                        int64_t to, int64_t *ret_last);

#endif
