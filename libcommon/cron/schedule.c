/* schedule.c - schedules of recurring work */
#include "libcommon/cron/schedule.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libcommon/cron/civil.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/steps.h"

enum { MINUTE_S = 60, DAY_MINUTES = 24 * 60, DAY_S = DAY_MINUTES * 60 };

/* --- the text ---------------------------------------------------------- */

static const char *const month_names[] = { "jan", "feb", "mar", "apr", "may",
	                                   "jun", "jul", "aug", "sep", "oct",
	                                   "nov", "dec", NULL };
static const char *const day_names[] = { "sun", "mon", "tue", "wed",
	                                 "thu", "fri", "sat", NULL };

static const struct cron_field {
	const char *name;
	int min, max;
	const char *const *names; /* names of min, min + 1, ...; or NULL */
	int last; /* the last value of "*" and of "n/step"; for weekdays 6,
	             because 7 is Sunday, like 0 */
} fields[] = {
	{ "minute", 0, 59, NULL, 59 },
	{ "hour", 0, 23, NULL, 23 },
	{ "day of month", 1, 31, NULL, 31 },
	{ "month", 1, 12, month_names, 12 },
	{ "day of week", 0, 7, day_names, 6 },
};

enum { NFIELDS = ARRAY_SIZE(fields) };

static const struct {
	const char *name, *fields;
} macros[] = {
	{ "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },
	{ "@midnight", "0 0 * * *" }, { "@weekly", "0 0 * * 0" },
	{ "@monthly", "0 0 1 * *" },  { "@yearly", "0 0 1 1 *" },
	{ "@annually", "0 0 1 1 *" },
};

static int bad_field(const struct cron_field *f, const char *text, size_t len,
                     struct err *err)
{
	return err_set(err, EINVAL, "%s '%.*s': give %d-%d, lists and /steps%s",
	               f->name, (int)len, text, f->min, f->max,
	               f->names ? ", or names of three letters without steps"
	                        : "");
}

/* Parse a number, or a name if the field has names. */
static bool take_value(const struct cron_field *f, const char **s, int *ret)
{
	const char *begin = *s;

	if (f->names && isalpha((unsigned char)*begin)) {
		for (int i = 0; f->names[i]; i++) {
			if (!strncasecmp(begin, f->names[i], 3) &&
			    !isalpha((unsigned char)begin[3])) {
				*ret = f->min + i;
				*s += 3;
				return true;
			}
		}
		return false;
	}
	for (*ret = 0; isdigit((unsigned char)**s); ++*s)
		if (*s - begin < 4)
			*ret = *ret * 10 + (**s - '0');
	return *s > begin && *s - begin < 4 && *ret >= f->min && *ret <= f->max;
}

/* Parse "*", "n" or "a-b", and "/step" behind it, which may not follow names
 * such as "mon". Add the values to *set. */
static bool take_part(const struct cron_field *f, const char **s, uint64_t *set)
{
	static const struct cron_field steps = { "step", 1, 999, NULL, 999 };
	const char *begin = *s;
	int a = f->min, b = f->last, step = 1;

	if (**s == '*') {
		++*s;
	} else {
		if (!take_value(f, s, &a))
			return false;
		if (**s == '-') {
			++*s;
			if (!take_value(f, s, &b) || a > b)
				return false;
		} else if (**s != '/') {
			b = a;
		}
	}
	if (**s == '/') {
		while (begin < *s && !isalpha((unsigned char)*begin))
			begin++;
		if (begin < *s)
			return false;
		++*s;
		if (!take_value(&steps, s, &step))
			return false;
	}
	for (; a <= b; a += step)
		*set |= UINT64_C(1) << a;
	return true;
}

static int parse_field(const struct cron_field *f, const char *s, size_t len,
                       uint64_t *ret, struct err *err)
{
	const char *at = s, *end = s + len;

	*ret = 0;
	do {
		if (!take_part(f, &at, ret) || at > end)
			return bad_field(f, s, len, err);
	} while (at < end && *at == ',' && at++ < end);
	return at == end ? 0 : bad_field(f, s, len, err);
}

/* Whether some month of the schedule has one of its days. */
static bool has_date(const struct schedule *s)
{
	if (s->either_day)
		return true;
	for (int m = 1; m <= 12; m++)
		if (s->months >> m & 1 &&
		    s->days &
		        ((UINT64_C(1) << (civil_month_days(2000, m) + 1)) - 1))
			return true;
	return false;
}

static int check_number(const char *text, struct err *err)
{
	const char *at = text + strspn(text, " \t");
	size_t n = 0;

	for (; *at; n++) {
		at += strcspn(at, " \t");
		at += strspn(at, " \t");
	}
	return n == NFIELDS
	           ? 0
	           : err_set(err, EINVAL,
	                     "'%s' has %zu field%s, not 5: minute hour "
	                     "day-of-month month day-of-week",
	                     text, n, n == 1 ? "" : "s");
}

static int parse_fields(struct schedule *ret, const char *text, struct err *err)
{
	uint64_t set[NFIELDS];
	bool star[NFIELDS];
	const char *at = text;

	if (check_number(text, err) < 0)
		return -1;
	for (size_t i = 0; i < NFIELDS; i++) {
		size_t len;

		at += strspn(at, " \t");
		len = strcspn(at, " \t");
		star[i] = *at == '*';
		if (parse_field(&fields[i], at, len, &set[i], err) < 0)
			return -1;
		at += len;
	}
	*ret = (struct schedule){
		.minutes = set[0],
		.hours = (uint32_t)set[1],
		.days = (uint32_t)set[2],
		.months = (uint32_t)set[3],
		.weekdays = (uint8_t)((set[4] | set[4] >> 7) & 0x7f),
		.either_day = !star[2] && !star[4],
		.fixed = !star[0] && !star[1],
	};
	if (!has_date(ret))
		return err_set(
		    err, EINVAL,
		    "'%s': no month that it names has such a day of month",
		    text);
	return 0;
}

static int parse_every(struct schedule *ret, const char *text, struct err *err)
{
	int64_t s;

	text += strspn(text, " \t");
	if (parse_duration(text, &s, err) < 0)
		return -1;
	if (s <= 0 || s > MAX_SECONDS / 2)
		return err_set(err, EINVAL, "@every needs a time above 0");
	*ret = (struct schedule){ .every_s = s };
	return 0;
}

int schedule_parse(struct schedule *ret, const char *text, struct err *err)
{
	static const char every[] = "@every";
	const char *s = text + strspn(text, " \t");
	size_t len = strcspn(s, " \t");

	if (*s != '@')
		return parse_fields(ret, s, err);
	if (len == sizeof(every) - 1 && !strncmp(s, every, len))
		return parse_every(ret, s + len, err);
	for (size_t i = 0; i < ARRAY_SIZE(macros); i++)
		if (strlen(macros[i].name) == len &&
		    !strncmp(s, macros[i].name, len) &&
		    !s[len + strspn(s + len, " \t")])
			return parse_fields(ret, macros[i].fields, err);
	return err_set(err, EINVAL,
	               "'%s': only @hourly @daily @midnight @weekly @monthly "
	               "@yearly @annually and '@every TIME' begin with @",
	               text);
}

/* --- the local clock --------------------------------------------------- */

static bool day_matches(const struct schedule *s, struct civil c, int64_t days)
{
	bool day = s->days >> c.day & 1;
	bool weekday = s->weekdays >> civil_weekday(days) & 1;

	if (!(s->months >> c.month & 1))
		return false;
	return s->either_day ? day || weekday : day && weekday;
}

/* Returns the first matching minute of a day that is not before `minute`,
 * or -1. */
static int minute_from(const struct schedule *s, int minute)
{
	for (int h = minute / 60; h < 24; h++, minute = h * 60) {
		uint64_t left = s->minutes >> minute % 60;

		if (s->hours >> h & 1 && left)
			return minute + __builtin_ctzll(left);
	}
	return -1;
}

/* Returns the first matching local time in [from, before), at the beginning of
 * its minute; or SCHEDULE_NEVER. */
static int64_t local_from(const struct schedule *s, int64_t from,
                          int64_t before)
{
	int64_t minutes = from / MINUTE_S + (from % MINUTE_S > 0);
	int64_t days = minutes / DAY_MINUTES - (minutes % DAY_MINUTES < 0);
	int minute = (int)(minutes - days * DAY_MINUTES);

	for (; days * DAY_S < before; days++, minute = 0) {
		struct civil c = civil_of_days(days);
		int64_t local;

		steps_add(days % 8 == 0); /* eight rounds count as one step */
		if (!(s->months >> c.month & 1)) {
			/* Skip to the last day of the month. */
			days += civil_month_days(c.year, c.month) - c.day;
			continue;
		}
		if (!day_matches(s, c, days))
			continue;
		minute = minute_from(s, minute);
		if (minute < 0)
			continue;
		local = days * DAY_S + (int64_t)minute * MINUTE_S;
		return local < before ? local : SCHEDULE_NEVER;
	}
	return SCHEDULE_NEVER;
}

/* --- instants ---------------------------------------------------------- */

/* Returns the first time in [from, before), or SCHEDULE_NEVER. The offset of
 * the zone must not change between the two. */
static int64_t next_in_stretch(const struct schedule *s,
                               const struct zone *zone, int64_t from,
                               int64_t before)
{
	int64_t offset = zone_offset(zone, from), local = from + offset, first;

	for (;;) {
		local = local_from(s, local, before + offset);
		if (local == SCHEDULE_NEVER)
			return SCHEDULE_NEVER;
		/* A fixed schedule has already run if the clock was set back
		 * and shows this local time again. */
		if (!s->fixed || (zone_first(zone, local, &first) &&
		                  first == local - offset))
			return local - offset;
		local += MINUTE_S;
	}
}

/* Whether the schedule is fixed, and the clock skips one of its local times at
 * this instant. */
static bool skips_time(const struct schedule *s, const struct zone *zone,
                       int64_t at)
{
	int64_t end = at + zone_offset(zone, at), first;
	int64_t local = at + zone_offset(zone, at - 1);

	for (; s->fixed; local += MINUTE_S) {
		local = local_from(s, local, end);
		if (local == SCHEDULE_NEVER)
			return false;
		if (!zone_first(zone, local, &first))
			return true;
	}
	return false;
}

int64_t schedule_next(const struct schedule *s, const struct zone *zone,
                      int64_t created, int64_t after)
{
	int64_t from = after + 1,
		end = from + SCHEDULE_YEARS * INT64_C(366) * DAY_S;

	if (s->every_s) {
		int64_t n =
		    after < created ? 0 : (after - created) / s->every_s;

		return created + (n + 1) * s->every_s;
	}
	if (skips_time(s, zone, from))
		return from;
	while (from < end) {
		int64_t next = zone_next(zone, from), found;

		found = next_in_stretch(s, zone, from, next < end ? next : end);
		if (found != SCHEDULE_NEVER)
			return found;
		from = next;
		if (from < end && skips_time(s, zone, from))
			return from;
	}
	return SCHEDULE_NEVER;
}

int64_t schedule_period(const struct schedule *s)
{
	int first = -1, last = -1, least = DAY_MINUTES;

	if (s->every_s)
		return s->every_s;
	for (int m = 0; m < DAY_MINUTES; m++) {
		if (!(s->hours >> (m / 60) & 1) ||
		    !(s->minutes >> (m % 60) & 1))
			continue;
		if (first < 0)
			first = m;
		else if (m - last < least)
			least = m - last;
		last = m;
	}
	if (first + DAY_MINUTES - last < least)
		least = first + DAY_MINUTES - last;
	return (int64_t)least * MINUTE_S;
}

/* --- counting ---------------------------------------------------------- */

/* Returns how many minutes of a matching day match in [from, before). */
static uint64_t minutes_between(const struct schedule *s, int from, int before)
{
	uint64_t n = 0;

	for (int h = from / 60; h < 24 && h * 60 < before; h++) {
		uint64_t set = s->minutes;
		int first = from - h * 60, end = before - h * 60;

		if (!(s->hours >> h & 1))
			continue;
		if (first > 0)
			set &= ~((UINT64_C(1) << first) - 1);
		if (end < 60)
			set &= (UINT64_C(1) << end) - 1;
		n += (uint64_t)__builtin_popcountll(set);
	}
	return n;
}

static int64_t divide_up(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

/* Returns how many local times match in [from, before). */
static uint64_t locals_between(const struct schedule *s, int64_t from,
                               int64_t before)
{
	int64_t first = divide_up(from, MINUTE_S);
	int64_t end = divide_up(before, MINUTE_S), n = 0;
	int64_t day = first / DAY_MINUTES - (first % DAY_MINUTES < 0);
	uint64_t each = minutes_between(s, 0, DAY_MINUTES);

	for (; day * DAY_MINUTES < end; day++) {
		int64_t at = day * DAY_MINUTES;
		bool whole = at >= first && at + DAY_MINUTES <= end;

		if (!day_matches(s, civil_of_days(day), day))
			continue;
		n +=
		    (int64_t)(whole
		                  ? each
		                  : minutes_between(
					s, first > at ? (int)(first - at) : 0,
					end - at < DAY_MINUTES ? (int)(end - at)
							       : DAY_MINUTES));
	}
	return (uint64_t)n;
}

/* Count the times in [from, before), in which the offset of the zone does not
 * change. `was` is the offset before `from`. */
static uint64_t count_stretch(const struct schedule *s, const struct zone *zone,
                              int64_t from, int64_t before, int32_t was)
{
	int64_t offset = zone_offset(zone, from);
	int64_t local = from + offset, end = before + offset, first;
	uint64_t n = 0;

	/* A fixed schedule has already run at the times that the clock shows
	 * again after being set back. */
	if (s->fixed && was > offset)
		local = from + was < end ? from + was : end;
	else if (was < offset && skips_time(s, zone, from) &&
	         !(local_from(s, local, local + 1) == local &&
	           zone_first(zone, local, &first) && first == from))
		n++; /* a time that the clock skips counts at the end of the gap
		      */
	return n + (local < end ? locals_between(s, local, end) : 0);
}

/* Returns the last time of the schedule up to `to`. A binary search finds
 * the earliest instant after which the next time of the schedule is later
 * than `to`. */
static int64_t last_until(const struct schedule *s, const struct zone *zone,
                          int64_t created, int64_t after, int64_t to)
{
	int64_t low = after, high = to;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (schedule_next(s, zone, created, middle) > to)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint64_t schedule_count(const struct schedule *s, const struct zone *zone,
                        int64_t created, int64_t after, int64_t to,
                        int64_t *ret_last)
{
	int64_t from =
	    /* include the transition that may have set the clock back */
	    after + 1 - 2 * DAY_S;
	uint64_t n = 0;

	*ret_last = SCHEDULE_NEVER;
	if (schedule_next(s, zone, created, after) > to)
		return 0;
	*ret_last = last_until(s, zone, created, after, to);
	if (s->every_s)
		return (uint64_t)((*ret_last - created) / s->every_s -
		                  (after < created
		                       ? 0
		                       : (after - created) / s->every_s));
	for (int32_t was = zone_offset(zone, from); from <= to;) {
		int64_t next = zone_next(zone, from);
		int64_t end = next <= to ? next : to + 1;

		if (end > after + 1)
			n += count_stretch(s, zone, from, end, was) -
			     (from <= after
			          ? count_stretch(s, zone, from, after + 1, was)
			          : 0);
		was = zone_offset(zone, end - 1);
		from = end;
	}
	return n;
}
