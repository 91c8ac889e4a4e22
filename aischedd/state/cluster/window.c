/* window.c - windows of time that repeat every day or week at the same hour */
#include "aischedd/state/cluster/window.h"

#include <string.h>
#include <time.h>

#include "libcommon/mem.h"

enum {
	DAY_S = 24 * 60 * 60,
	WEEK_S = 7 * DAY_S,
	YEAR_WEEKS = 53,
	/* clock changes that windows_meet() looks at: one to daylight saving,
	 * and one from it */
	CHANGES = 2
};

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

/* Change w, which repeats, to the nth repetition after it. */
static void advance(struct window *w, int64_t n)
{
	int64_t length = w->end - w->start;
	time_t at = w->start;
	struct tm tm;

	localtime_r(&at, &tm);
	tm.tm_mday += (int)n * repeats[w->repeat].days;
	/* keep the local time across changes to and from daylight saving */
	tm.tm_isdst = -1;
	w->start = mktime(&tm);
	w->end = w->start + length;
}

bool window_next(struct window *w)
{
	if (w->repeat == REPEAT_NEVER)
		return false;
	advance(w, 1);
	return true;
}

/* Skip repetitions that end before `at`. One or two of them may be left,
 * because days on which the clock changes are longer or shorter than others. */
static void skip(struct window *w, int64_t at)
{
	int64_t period = (int64_t)repeats[w->repeat].days * DAY_S;
	int64_t n = period ? (at - w->end) / period - 1 : 0;

	if (n > 0)
		advance(w, n);
}

/* Whether the windows or their repetitions overlap. Looks only at repetitions
 * that end after `from` and begin before `until`. */
static bool meet_between(struct window a, struct window b, int64_t from,
                         int64_t until)
{
	skip(&a, from);
	skip(&b, from);
	while (a.start >= b.end || b.start >= a.end) {
		struct window *first = a.end <= b.start ? &a : &b;

		if (first->start >= until || !window_next(first))
			return false;
	}
	return true;
}

static long offset_at(int64_t at)
{
	time_t time = at;
	struct tm tm;

	localtime_r(&time, &tm);
	return tm.tm_gmtoff;
}

/* Returns the time of the next change of the clock after `from`; if there is
 * none within a year, returns `from`. */
static int64_t next_change(int64_t from)
{
	long offset = offset_at(from);
	int64_t low = from, high = from;

	for (int i = 0; i < YEAR_WEEKS && offset_at(high) == offset; i++) {
		low = high;
		high += WEEK_S;
	}
	if (offset_at(high) == offset)
		return from;
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (offset_at(middle) == offset)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* If both windows repeat, it is enough to look at the week in which the later
 * one begins, and at the weeks after the next CHANGES changes of the clock:
 * until the clock changes, each week is like the week before. */
bool windows_meet(struct window a, struct window b)
{
	int64_t at = a.start > b.start ? a.start : b.start, change;

	if (a.repeat == REPEAT_NEVER || b.repeat == REPEAT_NEVER)
		return meet_between(a, b, at, INT64_MAX);
	for (int i = 0; i <= CHANGES; i++) {
		if (meet_between(a, b, at, at + WEEK_S + DAY_S))
			return true;
		change = next_change(at);
		if (change == at)
			break;
		at = change;
	}
	return false;
}
