/*
 * zone_rule.h - the rule at the end of a zone
 * file: "CET-1CEST,M3.5.0,M10.5.0/3"
 *
 * The syntax is that of TZ in POSIX.1 8.3, with hours from -167 to 167 as in
 * RFC 9636 3.3.1. The rule applies after the last transition in the file.
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
	int32_t offset[2]; /* seconds east of UTC: standard, summer time */
	bool summer;       /* false: there is only standard time */
	struct zone_date date[2]; /* begin of summer time, of standard time */
};

/* Parse a rule. Fails with EINVAL. */
int zone_rule_parse(struct zone_rule *ret, const char *text, struct err *err);

/* Get the transitions of a year as unix times: to summer time, to
 * standard time. */
void zone_rule_year(const struct zone_rule *rule, int64_t year, int64_t ret[2]);

#endif
