/* test_due.c - find which time of recurring work is due now */
#include "libcommon/cron/due.h"

#include "tests/unit/check.h"

enum { HOUR = 3600, DAY = 24 * HOUR };

/* Returns a rule for every hour in UTC, from time 0 on. */
static struct due_rule hourly(struct schedule *s)
{
	static struct zone *zone;
	struct err err;

	if (!zone)
		zone = zone_load("UTC", &err);
	ck_assert_ptr_nonnull(zone);
	ck_assert_int_eq(schedule_parse(s, "@hourly", &err), 0);
	return (struct due_rule){ .schedule = s,
		                  .zone = zone,
		                  .until = SCHEDULE_NEVER,
		                  .late_s = SCHEDULE_NEVER,
		                  .make_up = true };
}

static struct due look(const struct due_rule *r, int64_t last, int64_t up,
                       int64_t now)
{
	struct due due;

	due_look(r, last, up, now, &due);
	return due;
}

START_TEST(in_time)
{
	struct schedule s;
	struct due_rule r = hourly(&s);
	struct due due = look(&r, 0, 0, HOUR - 1);

	ck_assert_int_eq(due.time, SCHEDULE_NEVER);
	ck_assert_int_eq(due.wake, HOUR);
	due = look(&r, due.last, 0, HOUR + 2);
	ck_assert_int_eq(due.time, HOUR);
	ck_assert_int_eq(due.last, HOUR);
	ck_assert_int_eq(due.next, 2 * HOUR);
	ck_assert_uint_eq(due.missed, 0);
	due = look(&r, due.last, 0, HOUR + 3);
	ck_assert_int_eq(due.time, SCHEDULE_NEVER);
}
END_TEST

START_TEST(missed_run_once)
{
	struct schedule s;
	struct due_rule r = hourly(&s);
	struct due due = look(&r, HOUR, 5 * HOUR + 10, 5 * HOUR + 10);

	ck_assert_int_eq(due.time, 5 * HOUR);
	ck_assert_uint_eq(due.missed, 3);
	ck_assert_int_eq(due.next, 6 * HOUR);
}
END_TEST

START_TEST(missed_are_skipped)
{
	struct schedule s;
	struct due_rule r = hourly(&s);
	struct due due;

	r.make_up = false;
	due = look(&r, HOUR, 5 * HOUR + 10, 5 * HOUR + 10);
	ck_assert_int_eq(due.time, SCHEDULE_NEVER);
	ck_assert_uint_eq(due.missed, 4);
	ck_assert_int_eq(due.last, 5 * HOUR);
	/* The machine slept, with the daemon running: the time is missed. */
	due = look(&r, HOUR, 0, 5 * HOUR + DUE_SLACK_S + 1);
	ck_assert_int_eq(due.time, SCHEDULE_NEVER);
	/* The daemon was only busy for some seconds: the time is due. */
	due = look(&r, 4 * HOUR, 0, 5 * HOUR + DUE_SLACK_S);
	ck_assert_int_eq(due.time, 5 * HOUR);
}
END_TEST

START_TEST(too_late)
{
	struct schedule s;
	struct due_rule r = hourly(&s);
	int64_t now = 5 * HOUR + 600;

	r.late_s = 600;
	ck_assert_int_eq(look(&r, HOUR, now, now).time, 5 * HOUR);
	r.late_s = 599;
	ck_assert_int_eq(look(&r, HOUR, now, now).time, SCHEDULE_NEVER);
	/* The next time is not affected: it runs. */
	ck_assert_int_eq(look(&r, HOUR, now, 6 * HOUR).time, 6 * HOUR);
}
END_TEST

START_TEST(clock_set_back)
{
	struct schedule s;
	struct due_rule r = hourly(&s);
	struct due due = look(&r, 5 * HOUR, 0, 3 * HOUR);

	ck_assert_int_eq(due.time, SCHEDULE_NEVER);
	ck_assert_int_eq(due.last, 5 * HOUR);
	ck_assert_int_eq(due.next, 6 * HOUR);
}
END_TEST

START_TEST(up_to_the_end)
{
	struct schedule s;
	struct due_rule r = hourly(&s);
	struct due due;

	r.until = 2 * HOUR;
	due = look(&r, 0, 0, HOUR);
	ck_assert_int_eq(due.next, 2 * HOUR);
	due = look(&r, HOUR, 0, 2 * HOUR);
	ck_assert_int_eq(due.time, 2 * HOUR);
	ck_assert_int_eq(due.next, SCHEDULE_NEVER);
	ck_assert_int_eq(due.wake, SCHEDULE_NEVER);
	ck_assert_int_eq(look(&r, 2 * HOUR, 0, DAY).time, SCHEDULE_NEVER);
}
END_TEST

START_TEST(shifted)
{
	struct schedule s;
	struct due_rule r = hourly(&s);
	struct due due;

	r.shift = due_shift(&s, "cluster", 12, 600);
	ck_assert_int_ge(r.shift, 0);
	ck_assert_int_lt(r.shift, 600);
	ck_assert_int_eq(due_shift(&s, "cluster", 12, 600), r.shift);
	ck_assert_int_ne(due_shift(&s, "cluster", 13, 600), r.shift);
	ck_assert_int_ne(due_shift(&s, "other", 12, 600), r.shift);
	ck_assert_int_eq(due_shift(&s, "cluster", 12, 0), 0);
	due = look(&r, 0, 0, HOUR + r.shift - 1);
	ck_assert_int_eq(due.time, SCHEDULE_NEVER);
	ck_assert_int_eq(due.wake, HOUR + r.shift);
	ck_assert_int_eq(look(&r, 0, 0, HOUR + r.shift).time, HOUR);
	ck_assert_int_eq(schedule_parse(&s, "@every 2s", NULL), 0);
	ck_assert_int_eq(due_shift(&s, "cluster", 12, 600), 0);
}
END_TEST

SUITE(due)
{
	tcase_add_test(tc, in_time);
	tcase_add_test(tc, missed_run_once);
	tcase_add_test(tc, missed_are_skipped);
	tcase_add_test(tc, too_late);
	tcase_add_test(tc, clock_set_back);
	tcase_add_test(tc, up_to_the_end);
	tcase_add_test(tc, shifted);
}
