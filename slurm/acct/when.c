/* when.c - parse times as sacct and sreport accept them */
#include "slurm/acct/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libcommon/mem.h"
#include "libcommon/parse.h"

/* Rewrite a date MMDD[YY] or MM/DD[/YY] as YYYY-MM-DD, and a '-' before the
 * hour as 'T'; copy anything else. */
static char *usual_time(const char *value, int64_t now)
{
	size_t digits = strspn(value, "0123456789");
	int month = 0, day = 0, year = -1, end = 0;
	time_t t = now;
	struct tm tm;
	char *text;

	if (digits == 4 || digits == 6)
		sscanf(value, digits == 4 ? "%2d%2d%n" : "%2d%2d%n%2d%n",
		       &month, &day, &end, &year, &end);
	else if (digits == 2 && value[2] == '/')
		sscanf(value, "%2d/%2d%n/%2d%n", &month, &day, &end, &year,
		       &end);
	/* If the "month" is above 12, the date begins with a year, as in
	 * 2026-11-22: do not rewrite it. */
	if (end && month <= 12 && (!value[end] || value[end] == '-')) {
		localtime_r(&t, &tm);
		return xasprintf("%04d-%02d-%02d%s%s",
		                 year < 0 ? tm.tm_year + 1900 : 2000 + year,
		                 month, day, value[end] ? "T" : "",
		                 value[end] ? value + end + 1 : "");
	}
	text = xstrdup(value);
	if (strlen(text) > 10 && text[4] == '-' && text[10] == '-')
		text[10] = 'T';
	return text;
}

int when_parse(const char *value, int64_t now, int64_t *ret, struct err *err)
{
	char *text = usual_time(value, now);
	int rc;

	rc = parse_time(text, now, ret, NULL);
	if (rc < 0 && !strncmp(text, "1970-", 5)) {
		*ret = WHEN_FIRST;
		rc = 0;
	}
	/* A time of day that has not come yet today is yesterday's. */
	if (rc == 0 && *ret > now && strchr(text, ':') && !strchr(text, '-'))
		*ret -= 24 * 60 * 60;
	free(text);
	return rc < 0 ? err_set(err, EINVAL, "Invalid time specification: %s",
	                        value)
	              : 0;
}

int64_t when_midnight(int64_t now)
{
	time_t t = now;
	struct tm tm;

	localtime_r(&t, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return mktime(&tm);
}
