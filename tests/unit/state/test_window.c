/* test_window.c - whether two windows overlap, checked by comparing all
 * of their repetitions */
#include "aischedd/state/cluster/window.h"

#include <stdlib.h>
#include <time.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

enum { MINUTE = 60, DAY = 24 * 60 * 60, YEARS = 3, PAIRS = 3000 };

static const char *const zones[] = { "UTC", "CET-1CEST,M3.5.0,M10.5.0/3" };

static uint32_t seed = 1;

static int64_t below(int64_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (int64_t)(((uint64_t)seed * (uint64_t)n) >> 32);
}

/* Returns the start of the nth repetition. */
static int64_t start_of(const struct window *w, int n)
{
	time_t at = w->start;
	struct tm tm;

	localtime_r(&at, &tm);
	tm.tm_mday += n * repeat_days(w->repeat);
	tm.tm_isdst = -1;
	return mktime(&tm);
}

/* Whether two windows overlap, by comparing all their repetitions that begin
 * within YEARS. */
static bool any_meet(const struct window *a, const struct window *b)
{
	int64_t until = a->start + (int64_t)YEARS * 366 * DAY;
	int i = 0, j = 0;
	int64_t x = a->start, y = b->start;

	while (x < until && y < until) {
		if (x < y + b->end - b->start && y < x + a->end - a->start)
			return true;
		if (x < y && a->repeat == REPEAT_NEVER)
			return false;
		if (x >= y && b->repeat == REPEAT_NEVER)
			return false;
		if (x < y)
			x = start_of(a, ++i);
		else
			y = start_of(b, ++j);
	}
	return false;
}

/* Returns a window that begins on one of 366 days, but not in the hour in which
 * clocks change. Most windows are so short that many pairs do not overlap. */
static struct window draw(void)
{
	struct window w = { .repeat = (enum repeat)below(3) };
	int64_t minute = below(4) ? below(24) * 60 : below(24 * 60);
	int days = repeat_days(w.repeat);
	struct tm tm = { .tm_year = 126, .tm_isdst = -1 };
	int64_t most = days ? days * DAY / MINUTE : 366 * DAY / MINUTE;

	if (minute >= 120 && minute < 180)
		minute -= 60;
	tm.tm_mday = 1 + (int)below(366);
	tm.tm_min = (int)minute;
	w.start = mktime(&tm);
	if (below(8))
		most = 12 * 60;
	w.end = w.start + (1 + below((most - 1) / 60)) * 60 * MINUTE;
	return w;
}

START_TEST(meet_as_all_repetitions_do)
{
	int met = 0;

	setenv("TZ", zones[_i], 1);
	tzset();
	for (int i = 0; i < PAIRS; i++) {
		struct window a = draw(), b = draw();
		bool want = any_meet(&a, &b);

		ck_assert_msg(windows_meet(a, b) == want,
		              "%lld-%lld %s and %lld-%lld %s: %d expected",
		              (long long)a.start, (long long)a.end,
		              repeat_name(a.repeat), (long long)b.start,
		              (long long)b.end, repeat_name(b.repeat), want);
		ck_assert(windows_meet(b, a) == want);
		met += want;
	}
	ck_assert_int_gt(met, PAIRS / 10);
	ck_assert_int_lt(met, PAIRS - PAIRS / 10);
	unsetenv("TZ");
	tzset();
}
END_TEST

SUITE(window)
{
	tcase_add_loop_test(tc, meet_as_all_repetitions_do, 0,
	                    ARRAY_SIZE(zones));
}
