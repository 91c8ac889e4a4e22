/*
 * zone_rule.h - the rule at the end of a zone file:
 * "CET-1CEST,M3.5.0,M10.5.0/3"
 *
 * POSIX.1 8.3 (TZ) with the hours of RFC 9636 3.3.1: -167 to 167.  It holds
 * after the last transition that the file lists.
 */
#ifndef LIBCOMMON_CRON_ZONE_RULE_H
#define LIBCOMMON_CRON_ZONE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

/* A day of the year, and seconds after its midnight. */
struct zone_date {
	enum { DATE_JULIAN, DATE_DAY, DATE_WEEKDAY } kind; /* Jn, n, Mm.w.d */
	int month, week, day;
	int32_t time;
};

struct zone_rule {
	int32_t offset[2];        /* seconds east: standard, summer */
	bool summer;              /* false: offset[0] for ever */
	struct zone_date date[2]; /* begin of summer, of standard time */
};

/* Fails with EINVAL. */
int zone_rule_parse(struct zone_rule *ret, const char *text, struct err *err);

/* The two transitions of a year as instants: to summer, to standard time. */
void zone_rule_year(const struct zone_rule *rule, int64_t year, int64_t ret[2]);

#endif
