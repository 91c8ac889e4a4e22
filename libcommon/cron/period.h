/*
 * period.h - hours, days, weeks and months of a time zone
 *
 * A day begins at the first instant that shows its midnight or, if the clock
 * skips that, at the end of the gap. Hours are counted from there in real time:
 * a day has 23 to 25 of them, and the last may be shorter. Weeks begin on
 * Monday.
 */
#ifndef LIBCOMMON_CRON_PERIOD_H
#define LIBCOMMON_CRON_PERIOD_H

#include <stdint.h>

#include "libcommon/cron/zone.h"

enum period { PERIOD_HOUR, PERIOD_DAY, PERIOD_MONTH, PERIOD_WEEK };

/* Get the first instant of the period that contains an instant, and that of the
 * next one.  zone NULL: UTC. */
void period_of(const struct zone *zone, enum period period, int64_t at,
               int64_t ret[2]);

#endif
