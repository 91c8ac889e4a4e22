/*
 * schedule.h - the times of recurring work: "30 2 * * mon-fri", "@every 90m"
 *
 * Five fields as crontab(5) has them, matched against the local clock of a
 * zone. A schedule is fixed if neither its minute nor its hour field begins
 * with '*'; any other is an interval. For each local minute that matches the
 * fields, its times are:
 *
 *	interval   every instant at which the clock shows that minute
 *	fixed      the first such instant; if the clock skips the minute, the
 *	           instant at which the gap ends
 *
 * On a day when the clock is changed, a fixed schedule thus runs once for each
 * of its times, and an interval keeps its pace.
 */
#ifndef LIBCOMMON_CRON_SCHEDULE_H
#define LIBCOMMON_CRON_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/cron/zone.h"
#include "libcommon/err.h"

/* A schedule must have a time within this many years. 29 February needs 8: 2096
 * and 2104 are leap years, 2100 is not. */
#define SCHEDULE_YEARS 8
#define SCHEDULE_NEVER INT64_MAX

struct schedule {
	uint64_t minutes; /* bit n: minute n */
	/* Likewise; bit 1 is the first day or month. */
	uint32_t hours, days, months;
	uint8_t weekdays; /* bit 0: Sunday */
	bool either_day;  /* neither day field begins with '*': a day that
	                     matches one of them is enough */
	bool fixed;
	int64_t every_s; /* of @every; 0: use the fields */
};

/*
 * Parse five fields, a macro (@hourly @daily @midnight @weekly @monthly @yearly
 * @annually) or "@every TIME". Fails with EINVAL; the text names the bad field.
 * Also fails if no date can ever match.
 */
int schedule_parse(struct schedule *ret, const char *text, struct err *err);

/*
 * Returns the first time later than `after`, or SCHEDULE_NEVER if there is none
 * within SCHEDULE_YEARS. @every counts from `created`, and ignores the zone.
 */
int64_t schedule_next(const struct schedule *schedule, const struct zone *zone,
                      int64_t created, int64_t after);

/* Returns the shortest interval, in seconds, between two times of a
 * schedule. Assumes that two days in a row match, and that the clock is not
 * changed on them. */
int64_t schedule_period(const struct schedule *schedule);

/*
 * Returns how many times there are later than `after` and not later than `to`.
 * *ret_last is the last of them, or SCHEDULE_NEVER. Whole days are counted at
 * once, so that a year of minutes takes less than a millisecond.
 */
uint64_t schedule_count(const struct schedule *schedule,
                        const struct zone *zone, int64_t created, int64_t after,
                        int64_t to, int64_t *ret_last);

#endif
