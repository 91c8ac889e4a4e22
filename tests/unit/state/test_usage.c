#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/pass/what_if.h"

#include <stdio.h>
#include <stdlib.h>

#include "libcommon/steps.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

enum { DAY = 86400, WEEK = 7 * DAY };

/* The rate of a job that holds an eighth of a pool. */
enum { EIGHTH = CHARGE_ALL / 8 };

static int64_t usage_after(int64_t half_life, int64_t rate, int64_t seconds,
                           int64_t step)
{
	struct usage u = { .rate = rate, .at = 1000 };

	for (int64_t t = step; t < seconds; t += step)
		usage_change(&u, half_life, 0, 1000 + t);
	return usage_at(&u, half_life, 1000 + seconds);
}

/* Check that got is about want; amount is the allowed error, in billionths. */
static void about(const char *what, int64_t got, int64_t want, int64_t amount)
{
	__int128 far = got > want ? got - want : want - got;

	ck_assert_msg(far * 1000000000 <= (__int128)want * amount,
	              "%s: %lld, not %lld", what, (long long)got,
	              (long long)want);
}

START_TEST(use_is_rate_times_time_while_it_is_short)
{
	about("a second", usage_after(WEEK, EIGHTH, 1, 1), EIGHTH, 1000);
	about("an hour", usage_after(WEEK, EIGHTH, 3600, 3600), EIGHTH * 3600ll,
	      3000000);
	about("a second of a century",
	      usage_after(36500ll * DAY, CHARGE_ALL, 1, 1), CHARGE_ALL, 100000);
}
END_TEST

/* The expected numbers were computed with bc -l. */
START_TEST(use_counts_half_after_a_half_life)
{
	struct usage u = { .rate = EIGHTH };

	about("a half-life", usage_at(&u, WEEK, WEEK), 54533872545603, 10);
	about("for ever", usage_at(&u, WEEK, 1000ll * WEEK), 109067745091206,
	      10);
	usage_change(&u, WEEK, -EIGHTH, WEEK);
	about("one later", usage_at(&u, WEEK, 2 * WEEK), 54533872545603 / 2,
	      10);
	about("ten later", usage_at(&u, WEEK, 11 * WEEK), 54533872545603 / 1024,
	      10);
	about("1.1 half-lives", usage_at(&u, WEEK, WEEK + WEEK / 10 * 11),
	      25440951120655, 10);
	ck_assert_int_eq(usage_at(&u, WEEK, 100ll * WEEK), 0);
}
END_TEST

/* Reading the usage in between does not change it, except that each reading
 * rounds by at most half a billionth of a second. */
START_TEST(it_does_not_matter_who_looks)
{
	static const int64_t half_lives[] = { 1, 7, 3600, WEEK, 36500ll * DAY };

	for (size_t i = 0; i < sizeof(half_lives) / sizeof(*half_lives); i++) {
		int64_t h = half_lives[i];
		int64_t once = usage_after(h, EIGHTH + 7, 100000, 100000);

		for (int64_t step = 1; step < 100000; step = step * 7 + 1) {
			int64_t often =
			    usage_after(h, EIGHTH + 7, 100000, step);

			ck_assert_msg(llabs(often - once) <=
			                  3 * (100000 / step + 1),
			              "half-life %lld, every %lld s: %lld, "
			              "not %lld",
			              (long long)h, (long long)step,
			              (long long)often, (long long)once);
		}
	}
}
END_TEST

START_TEST(news_may_be_late)
{
	struct usage late = { .rate = 2 * EIGHTH }, u = late;

	usage_change(&u, WEEK, -EIGHTH, 5000);
	usage_change(&u, WEEK, 0, DAY);
	usage_change(&late, WEEK, 0, DAY);
	usage_change(&late, WEEK, -EIGHTH, 5000);
	ck_assert_int_eq(late.rate, u.rate);
	ck_assert_int_eq(late.at, u.at);
	about("late", late.amount, u.amount, 1);
	/* Usage never falls below zero. */
	usage_change(&late, WEEK, -EIGHTH, -100 * DAY);
	ck_assert_int_eq(late.amount, 0);
	/* Usage does not change if the clock is set back. */
	ck_assert_int_eq(usage_at(&u, WEEK, 0), u.amount);
}
END_TEST

START_TEST(it_never_overflows)
{
	struct usage u = { .rate = 64ll * CHARGE_ALL };
	int64_t most = usage_at(&u, 36500ll * DAY, INT64_MAX / 2);

	ck_assert_int_eq(most, (int64_t)1 << 61);
	u.amount = most;
	ck_assert_int_eq(usage_at(&u, 36500ll * DAY, 1), most);
	about("what has been for ever", usage_at(&u, 1, INT64_MAX),
	      64ll * 1442695041, 10);
}
END_TEST

START_TEST(light_by_part)
{
	static const struct {
		int64_t used, all;
		uint32_t users;
		int want;
	} cases[] = {
		{ 0, 0, 1, 1000 },      { 0, 10, 2, 1000 },
		{ 10, 10, 1, 500 },     { 5, 10, 2, 500 },
		{ 10, 10, 2, 250 },     { 1, 10, 2, 871 },
		{ 1, 4, 4, 500 },       { 1, 1000000, 2, 1000 },
		{ 10, 10, 1000000, 0 }, { INT64_MAX, INT64_MAX, 3, 125 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ck_assert_int_eq(
		    usage_light(cases[i].used, cases[i].all, cases[i].users),
		    cases[i].want);
}
END_TEST

/* --- usage in the state ------------------------------------------------ */

#define CONF(more)                                                 \
	"pool here { runner = local }\nqueue a { }\nqueue b { }\n" \
	"default_queue = \"a\"\n" more

/* Returns "a ada 0.500 + 2.000, ...": the rate and the usage of each user in a
 * queue, as parts of a pool. */
static const char *usages(struct world *w)
{
	const struct state *state = w->state;
	const struct conf *conf = state_conf(state);

	buf_clear(&w->text);
	for (size_t i = 0; i < state_nusages(state); i++) {
		const struct usage *u = state_usage(state, i);
		int64_t used =
		    usage_at(u, conf->scheduling.fairshare_half_life, w->now);

		buf_printf(&w->text, "%s%s %s %lld + %lld", i ? ", " : "",
		           conf->queues[u->queue].name,
		           state_user(state, u->user)->name,
		           (long long)u->rate / 1000000,
		           (long long)(used + 500000) / 1000000);
	}
	buf_addc(&w->text, '\0');
	return w->text.data;
}

#define PLAY(w, ...) \
	world_play(w, "usage", (const char *const[]){ __VA_ARGS__, NULL })

/* A job is charged for the resource of which it holds the largest part. The
 * node has 4 CPUs, 4000 MiB and 2 GPUs; numbers are thousandths. */
START_TEST(a_job_is_charged_the_largest_part_it_holds)
{
	static const struct {
		const char *job, *want;
	} cases[] = {
		{ "submit mem=1", "a ada 250 + 1000" },
		{ "submit cpus-per-task=0.5 mem=1", "a ada 125 + 500" },
		{ "submit mem=3000", "a ada 750 + 3000" },
		{ "submit gpus=1 mem=1", "a ada 500 + 2000" },
		{ "submit gpus-per-task=0.5 mem=1", "a ada 250 + 1000" },
		{ "submit tasks=2 mem=1", "a ada 500 + 2000" },
		{ "submit gpus=2 mem=1", "a ada 1000 + 4000" },
		{ "submit mem=1 exclusive", "a ada 1000 + 4000" },
		{ "submit tasks=2 mem=1 exclusive", "a ada 1000 + 4000" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world w;

		world_with_node(&w, CONF(""));
		PLAY(&w, cases[i].job, "run", "+4");
		ck_assert_str_eq(usages(&w), cases[i].want);
		world_fini(&w);
	}
}
END_TEST

START_TEST(a_job_is_charged_while_it_holds)
{
	struct world w;

	world_with_node(&w, CONF(""));
	PLAY(&w, "submit cpus-per-task=4 mem=1000", "run", "+8", "suspend",
	     "+4");
	ck_assert_str_eq(usages(&w), "a ada 250 + 9000");
	PLAY(&w, "resume", "run", "+1", "requeue", "+1", "end 1 0", "+50");
	ck_assert_str_eq(usages(&w), "a ada 0 + 10999");
	PLAY(&w, "submit queue=b mem=1", "hold 1", "run", "+1", "end 2 0",
	     "cancel 1");
	ck_assert_str_eq(usages(&w), "a ada 0 + 10999, b ada 0 + 250");
	world_fini(&w);
}
END_TEST

/* Evicted tasks are charged to the claimant while they end. */
START_TEST(an_elastic_job_is_charged_what_it_has)
{
	struct world w;

	world_with_node(&w, CONF(""));
	PLAY(&w, "submit tasks=3 min-tasks=1 mem=1", "decide start 1 n0,n0",
	     "started 1", "+4");
	ck_assert_str_eq(usages(&w), "a ada 500 + 2000");
	PLAY(&w, "decide grow 1 n0", "+2");
	ck_assert_str_eq(usages(&w), "a ada 750 + 3500");
	PLAY(&w, "decide evict 1 0,2 preempt 0", "+4");
	ck_assert_str_eq(usages(&w), "a ada 250 + 4500");
	PLAY(&w, "shrunk", "+4");
	ck_assert_str_eq(usages(&w), "a ada 250 + 5500");
	world_fini(&w);
}
END_TEST

static void as(struct world *w, uint32_t uid, const char *name)
{
	w->who.uid = uid;
	w->who.user = name;
}

static uint16_t light_of(const struct world *w, uint64_t job)
{
	struct arena *arena = arena_new();
	const struct snap *snap = state_peek(w->state, w->now, arena);
	uint16_t light = 0;

	for (uint32_t row = 0; row < snap->pend.n; row++)
		if (snap->member[snap->pend.member_first[row]].job == job)
			light = snap->pend.light[row];
	arena_free(arena);
	return light;
}

START_TEST(light_users_are_seen_in_the_snapshot)
{
	struct world w;

	world_with_node(&w, CONF("scheduling { fairshare_half_life = 100s }"));
	PLAY(&w, "submit cpus-per-task=3 mem=3", "run");
	as(&w, 5, "bob");
	PLAY(&w, "submit mem=1", "run", "submit mem=1");
	as(&w, 6, "eve");
	PLAY(&w, "submit queue=b mem=1 cpus-per-task=4", "submit mem=1", "+30");
	as(&w, 1234, "ada");
	PLAY(&w, "submit mem=1");
	/* Three users whose usage is as 3 : 1 : 0. */
	ck_assert_uint_eq(light_of(&w, 3), 595);
	ck_assert_uint_eq(light_of(&w, 4), 1000);
	ck_assert_uint_eq(light_of(&w, 5), 1000);
	ck_assert_uint_eq(light_of(&w, 6), 210);
	world_fini(&w);
}
END_TEST

/* The time that a job has run is kept after an eviction, but not after a
 * requeue. */
START_TEST(served_is_what_ran_before_others_needed_the_room)
{
	struct world w;

	world_with_node(&w, CONF("scheduling { order = least_served }"));
	PLAY(&w, "submit", "run", "+30", "snap run => run 1 *served=30 *",
	     "requeue 1", "end 1 0", "run", "+20",
	     "snap run => run 1 *served=20 *", "tell", "submit queue=b",
	     "decide evict 1 all preempt 2; claim 2 n0", "end 1 0",
	     "snap pend => *pend 1 *served=20 *");
	world_fini(&w);
}
END_TEST

/* User ada has used the queue and bob has not. Bob's job then starts before the
 * second job of ada, which was submitted earlier, unless ada's job was put
 * on top. */
START_TEST(light_users_go_first_but_not_before_the_top)
{
	for (int top = 0; top < 2; top++) {
		struct world w;

		world_with_node(&w, CONF(""));
		PLAY(&w, "submit cpus-per-task=4 mem=1", "run", "+100",
		     "submit cpus-per-task=4 mem=1");
		as(&w, 5, "bob");
		PLAY(&w, "submit cpus-per-task=4 mem=1", top ? "top 2" : "tell",
		     "end 1 0", "run",
		     top ? "jobs => 1 CD, 2 R, 3 PD Resources"
		         : "jobs => 1 CD, 2 PD Resources, 3 R");
		world_fini(&w);
	}
}
END_TEST

START_TEST(who_has_nothing_any_more_is_forgotten)
{
	struct world w;

	world_with_node(&w, CONF("scheduling { fairshare_half_life = 1s }"));
	PLAY(&w, "submit mem=1", "run", "+100", "end 1 0", "commit", "run");
	ck_assert_str_eq(usages(&w), "a ada 0 + 361");
	PLAY(&w, "commit", "+10", "run");
	ck_assert_str_eq(usages(&w), "a ada 0 + 0");
	PLAY(&w, "+20", "run");
	ck_assert_str_eq(usages(&w), "");
	world_fini(&w);
}
END_TEST

/* Returns how many steps of work a snapshot takes. */
static uint64_t steps_of_snapshot(struct world *w)
{
	uint64_t before = steps_so_far;
	struct arena *arena = arena_new();

	state_peek(w->state, w->now, arena);
	arena_free(arena);
	return steps_so_far - before;
}

START_TEST(users_are_judged_once_a_second_unless_something_changes)
{
	struct world w;
	char name[16];

	world_with_node(&w, CONF(""));
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "u%u", i);
		state_load_usage(w.state, "a", 2000 + i, name, 1000000000,
		                 w.now);
	}
	PLAY(&w, "submit mem=1", "run");
	ck_assert_uint_ge(steps_of_snapshot(&w), 1000);
	ck_assert_uint_lt(steps_of_snapshot(&w), 100);
	PLAY(&w, "+1");
	ck_assert_uint_ge(steps_of_snapshot(&w), 1000);
	PLAY(&w, "end 1 0");
	ck_assert_uint_ge(steps_of_snapshot(&w), 1000);
	world_fini(&w);
}
END_TEST

/* Make a test-only submission as the world's user. */
static void trial(struct world *w)
{
	struct spec spec;

	spec_init(&spec);
	spec.name = spec.output = "job";
	spec.workdir = "/";
	state_test_free(w->state,
	                state_test_take(w->state, &spec, &w->who, 0, w->now));
}

START_TEST(a_trial_of_a_new_user_makes_nobody_lighter)
{
	struct world w;
	uint64_t before;
	uint16_t light;

	world_with_node(&w, CONF(""));
	PLAY(&w, "submit cpus-per-task=3 mem=3", "run");
	as(&w, 5, "bob");
	PLAY(&w, "submit mem=1", "run", "+30", "submit mem=1");
	light = light_of(&w, 3);
	as(&w, 6, "eve");
	trial(&w);
	ck_assert_uint_eq(light_of(&w, 3), light);
	trial(&w);
	before = steps_so_far;
	/* another test-only submission of the same user in the same second does
	 * not compute usage again */
	trial(&w);
	ck_assert_uint_lt(steps_so_far, before + 4);
	ck_assert_uint_eq(light_of(&w, 3), light);
	ck_assert_uint_eq(state_nusages(w.state), 2);
	world_fini(&w);
}
END_TEST

START_TEST(another_configuration)
{
	struct world w;

	world_with_node(&w, CONF(""));
	PLAY(&w, "submit queue=b gpus=1 mem=1", "run", "+4", "end 1 0",
	     "submit gpus=1 mem=1", "run", "+4", "commit");
	w.old_conf = w.conf;
	w.conf = world_conf("pool here { runner = local }\nqueue c { }\n"
	                    "queue a { }\n"
	                    "scheduling { fairshare_half_life = 2s }\n");
	ck_assert_int_eq(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	w.now += 2;
	/* The usage 1721 is half of the 2000 from before, plus 721 for two
	 * seconds at the rate 500. */
	ck_assert_str_eq(usages(&w), "a ada 500 + 1721");
	world_check(&w);
	world_fini(&w);
}
END_TEST

SUITE(usage)
{
	tcase_add_test(tc, use_is_rate_times_time_while_it_is_short);
	tcase_add_test(tc, use_counts_half_after_a_half_life);
	tcase_add_test(tc, it_does_not_matter_who_looks);
	tcase_add_test(tc, news_may_be_late);
	tcase_add_test(tc, it_never_overflows);
	tcase_add_test(tc, light_by_part);
	tcase_add_test(tc, a_job_is_charged_the_largest_part_it_holds);
	tcase_add_test(tc, a_job_is_charged_while_it_holds);
	tcase_add_test(tc, an_elastic_job_is_charged_what_it_has);
	tcase_add_test(tc, light_users_are_seen_in_the_snapshot);
	tcase_add_test(tc, served_is_what_ran_before_others_needed_the_room);
	tcase_add_test(tc, light_users_go_first_but_not_before_the_top);
	tcase_add_test(tc, who_has_nothing_any_more_is_forgotten);
	tcase_add_test(tc, a_trial_of_a_new_user_makes_nobody_lighter);
	tcase_add_test(tc,
	               users_are_judged_once_a_second_unless_something_changes);
	tcase_add_test(tc, another_configuration);
}
