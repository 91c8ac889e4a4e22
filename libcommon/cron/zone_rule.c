/* zone_rule.c - the rule at the end of a zone file */
#include "libcommon/cron/zone_rule.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "libcommon/cron/civil.h"

enum { DAY_S = 24 * 60 * 60, MAX_HOURS = 167 };

/* Parse a number; returns false if there is none, or it is above max. */
static bool take_number(const char **s, int max, int *ret)
{
	if (!isdigit((unsigned char)**s))
		return false;
	for (*ret = 0; isdigit((unsigned char)**s); ++*s) {
		*ret = *ret * 10 + (**s - '0');
		if (*ret > max)
			return false;
	}
	return true;
}

/* Parse "[+-]h[h[h]][:mm[:ss]]". */
static bool take_time(const char **s, int max_hours, int32_t *ret)
{
	int sign = **s == '-' ? -1 : 1, hours, minutes = 0, seconds = 0;

	if (**s == '-' || **s == '+')
		++*s;
	if (!take_number(s, max_hours, &hours))
		return false;
	if (**s == ':') {
		++*s;
		if (!take_number(s, 59, &minutes))
			return false;
		if (**s == ':') {
			++*s;
			if (!take_number(s, 59, &seconds))
				return false;
		}
	}
	*ret = sign * (hours * 3600 + minutes * 60 + seconds);
	return true;
}

/* Parse "CET" or "<+0330>". */
static bool take_name(const char **s)
{
	const char *begin = *s;

	if (**s == '<') {
		size_t len = strcspn(*s, ">");

		*s += len + ((*s)[len] == '>');
		return (*s)[-1] == '>';
	}
	while (isalpha((unsigned char)**s))
		++*s;
	return *s - begin >= 3;
}

/* Parse ",M3.5.0/3", ",J60" or ",59". */
static bool take_date(const char **s, struct zone_date *ret)
{
	bool good;

	if (*(*s)++ != ',')
		return false;
	if (**s == 'M') {
		ret->kind = DATE_WEEKDAY;
		++*s;
		good = take_number(s, 12, &ret->month) && ret->month > 0 &&
		       *(*s)++ == '.' && take_number(s, 5, &ret->week) &&
		       ret->week > 0 && *(*s)++ == '.' &&
		       take_number(s, 6, &ret->day);
	} else if (**s == 'J') {
		ret->kind = DATE_JULIAN;
		++*s;
		good = take_number(s, 365, &ret->day) && ret->day > 0;
	} else {
		ret->kind = DATE_DAY;
		good = take_number(s, 365, &ret->day);
	}
	if (!good)
		return false;
	ret->time = 2 * 3600;
	if (**s != '/')
		return true;
	++*s;
	return take_time(s, MAX_HOURS, &ret->time);
}

static bool take_rule(const char *s, struct zone_rule *ret)
{
	int32_t west;

	if (!take_name(&s) || !take_time(&s, 24, &west))
		return false;
	ret->offset[0] = -west;
	ret->summer = *s != '\0';
	if (!ret->summer)
		return true;
	if (!take_name(&s))
		return false;
	ret->offset[1] = ret->offset[0] + 3600;
	if (*s != ',') {
		if (!take_time(&s, 24, &west))
			return false;
		ret->offset[1] = -west;
	}
	return take_date(&s, &ret->date[0]) && take_date(&s, &ret->date[1]) &&
	       !*s;
}

int zone_rule_parse(struct zone_rule *ret, const char *text, struct err *err)
{
	struct zone_rule rule = { 0 };

	if (!take_rule(text, &rule))
		return err_set(err, EINVAL, "bad time zone rule '%s'", text);
	*ret = rule;
	return 0;
}

static int64_t day_of(const struct zone_date *date, int64_t year)
{
	int64_t jan1 = civil_to_days((struct civil){ year, 1, 1 }), first, day;
	bool leap = civil_month_days(year, 2) == 29;

	switch (date->kind) {
	case DATE_JULIAN: /* days are counted without 29 February */
		return jan1 + date->day - 1 + (leap && date->day > 59);
	case DATE_DAY:
		return jan1 + date->day;
	case DATE_WEEKDAY:
		break;
	}
	first = civil_to_days((struct civil){ year, date->month, 1 });
	day = (date->day - civil_weekday(first) + 7) % 7 +
	      7 * ((int64_t)date->week - 1);
	/* Week 5 is the last one. */
	if (day >= civil_month_days(year, date->month))
		day -= 7;
	return first + day;
}

void zone_rule_year(const struct zone_rule *rule, int64_t year, int64_t ret[2])
{
	for (int i = 0; i < 2; i++)
		ret[i] = day_of(&rule->date[i], year) * DAY_S +
		         rule->date[i].time - rule->offset[i];
}
