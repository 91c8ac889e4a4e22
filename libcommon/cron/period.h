/*
 * period.h - hours, days, weeks and months of a time zone
 *
 * A day begins at the first instant at which the local clock shows its midnight
 * or, if the clock skips midnight, at the end of the gap. The hours of a day
 * are 3600 seconds each from there: a day has 23 to 25 of them, and the last
 * may be shorter. Weeks begin on Monday.
 */
#ifndef LIBCOMMON_CRON_PERIOD_H
#define LIBCOMMON_CRON_PERIOD_H

#include <stdint.h>

#include "libcommon/cron/zone.h"

enum period { PERIOD_HOUR, PERIOD_DAY, PERIOD_MONTH, PERIOD_WEEK };

/* Get the first instant of the period that contains `at`, and that of the next
 * period. If zone is NULL, it is UTC. */
void period_of(const struct zone *zone, enum period period, int64_t at,
               int64_t ret[2]);

#endif
