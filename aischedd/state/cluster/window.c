/* window.c - windows of time that repeat every day or week at the same hour */
#include "aischedd/state/cluster/window.h"

#include <string.h>
#include <time.h>

#include "libcommon/mem.h"

/* How many repetitions windows_meet() looks at. STEPS: if only one window
 * repeats. A reservation begins within a year from now, so 400 repetitions of a
 * daily window reach it. STEPS_REPEATED: if both windows repeat; then each week
 * is like the one before. */
enum { STEPS = 400, STEPS_REPEATED = 20 };

static const struct {
	const char *name;
	int days;
} repeats[] = {
	[REPEAT_NEVER] = { "never", 0 },
	[REPEAT_DAILY] = { "daily", 1 },
	[REPEAT_WEEKLY] = { "weekly", 7 },
};

const char *repeat_name(enum repeat repeat)
{
	return repeats[repeat].name;
}

int repeat_days(enum repeat repeat)
{
	return repeats[repeat].days;
}

int repeat_parse(const char *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(repeats); i++)
		if (!strcmp(s, repeats[i].name))
			return (int)i;
	return -1;
}

bool window_next(struct window *w)
{
	int64_t length = w->end - w->start;
	time_t at = w->start;
	struct tm tm;

	if (w->repeat == REPEAT_NEVER)
		return false;
	localtime_r(&at, &tm);
	tm.tm_mday += repeats[w->repeat].days;
	/* keep the local time across changes to and from daylight saving */
	tm.tm_isdst = -1;
	w->start = mktime(&tm);
	w->end = w->start + length;
	return true;
}

bool windows_meet(struct window a, struct window b)
{
	int steps = a.repeat != REPEAT_NEVER && b.repeat != REPEAT_NEVER
	                ? STEPS_REPEATED
	                : STEPS;

	while (steps--) {
		if (a.start < b.end && b.start < a.end)
			return true;
		if (!window_next(a.end <= b.start ? &a : &b))
			return false;
	}
	return false;
}
