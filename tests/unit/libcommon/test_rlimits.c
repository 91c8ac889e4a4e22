/* test_rlimits.c - print, parse and set resource limits of processes */
#include "libcommon/rlimits.h"

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const char *const round_trips[] = {
	"NOFILE=1024:4096",
	"CORE=0:-,NPROC=7:7",
	("AS=1:-,CORE=0:0,CPU=1:2,DATA=1:1,FSIZE=9223372036854775807:-,"
	 "MEMLOCK=1:1,NOFILE=0:-,NPROC=1:1,RSS=1:1,STACK=8388608:-"),
};

START_TEST(text_and_back)
{
	struct rlimits limits;
	struct buf text = { 0 };
	struct err err;

	ck_assert_msg(!rlimits_parse(&limits, round_trips[_i], &err), "%s",
	              err.text);
	rlimits_format(&text, &limits);
	ck_assert_str_eq(text.data, round_trips[_i]);
	buf_free(&text);
}
END_TEST

static const char *const bad[] = {
	"",
	"NOFILE",
	"NOFILE=1",
	"NOFILE=1:",
	"NOFILE=:",
	"NOFILE=2:1",
	"NOFILE=-:1",
	"NOFILE=1:2,",
	"FILES=1:",
	"NOFILE=1:2x",
	"NOFILE=1:2;CPU=",
	"nofile=1:2",
	",",
	"NOFILE=-1:2",
	"=1:2",
	"NO=1:2",
	"NOFILE=9223372036854775808:-",
};

START_TEST(bad_text)
{
	struct rlimits limits;
	struct err err;

	ck_assert_int_eq(rlimits_parse(&limits, bad[_i], &err), -1);
	ck_assert_int_eq(err.code, EINVAL);
}
END_TEST

START_TEST(own_limits_are_read)
{
	struct rlimit files = { 64, 128 };
	struct rlimits limits;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	rlimits_get(&limits);
	ck_assert_uint_eq(limits.of[LIMITED_NOFILE].rlim_cur, 64);
	ck_assert_uint_eq(limits.of[LIMITED_NOFILE].rlim_max, 128);
}
END_TEST

static const struct {
	const char *ours, *theirs, *get;
} sets[] = {
	{ "NOFILE=64:128", "NOFILE=32:100", "NOFILE=32:100" },
	/* A soft limit rises as far as the hard one allows. */
	{ "NOFILE=64:128", "NOFILE=100:128", "NOFILE=100:128" },
	/* A hard limit that we may not set is reduced to our own. */
	{ "NOFILE=64:128", "NOFILE=100:4096", "NOFILE=100:128" },
	{ "NOFILE=64:128", "NOFILE=1000:4096", "NOFILE=128:128" },
	{ "NOFILE=64:128", "CORE=0:0", "NOFILE=128:128" },
};

START_TEST(set_never_raises_a_hard_limit)
{
	struct rlimits ours, theirs, want, has;
	struct err err;

	ck_assert_int_eq(rlimits_parse(&ours, sets[_i].ours, &err), 0);
	ck_assert_int_eq(rlimits_parse(&theirs, sets[_i].theirs, &err), 0);
	ck_assert_int_eq(rlimits_parse(&want, sets[_i].get, &err), 0);
	/* rlimits_set() must not raise the hard limit even for root,
	 * who could. */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &ours.of[LIMITED_NOFILE]), 0);
	rlimits_set(&theirs, 1U << LIMITED_NOFILE);
	rlimits_get(&has);
	ck_assert_uint_eq(has.of[LIMITED_NOFILE].rlim_cur,
	                  want.of[LIMITED_NOFILE].rlim_cur);
	ck_assert_uint_eq(has.of[LIMITED_NOFILE].rlim_max,
	                  want.of[LIMITED_NOFILE].rlim_max);
}
END_TEST

START_TEST(what_is_not_selected_stays)
{
	struct rlimit files = { 64, 128 };
	struct rlimits theirs, has;
	struct err err;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_int_eq(rlimits_parse(&theirs, "NOFILE=1:2", &err), 0);
	rlimits_set(&theirs, ~(1U << LIMITED_NOFILE));
	rlimits_get(&has);
	ck_assert_uint_eq(has.of[LIMITED_NOFILE].rlim_cur, 64);
}
END_TEST

static const struct {
	const char *name[3];
	uint32_t want;
} selections[] = {
	{ { NULL }, 0 },
	{ { "none" }, 0 },
	{ { "ALL" }, (1U << RLIMITS_N) - 1 },
	{ { "AS" }, 1 },
	{ { "core", "NOFILE" }, 1U << LIMITED_CORE | 1U << LIMITED_NOFILE },
};

START_TEST(selection)
{
	const char *const *name = selections[_i].name;
	uint32_t got;
	size_t n = 0;

	while (name[n])
		n++;
	ck_assert_int_eq(rlimits_select(name, n, &got, NULL), 0);
	ck_assert_uint_eq(got, selections[_i].want);
}
END_TEST

START_TEST(all_and_none_stand_alone)
{
	static const char *const all[] = { "CORE", "ALL" };
	static const char *const none[] = { "NONE", "CORE" };
	struct err err;
	uint32_t got;

	ck_assert_int_eq(rlimits_select(all, 2, &got, &err), -1);
	ck_assert_int_eq(rlimits_select(none, 2, &got, &err), -1);
	ck_assert_str_eq(err.text,
	                 "bad limit 'NONE': use AS, CORE, CPU, DATA, FSIZE, "
	                 "MEMLOCK, NOFILE, NPROC, RSS and STACK, or ALL or "
	                 "NONE alone");
}
END_TEST

SUITE(rlimits)
{
	tcase_add_loop_test(tc, text_and_back, 0, ARRAY_SIZE(round_trips));
	tcase_add_loop_test(tc, bad_text, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, own_limits_are_read);
	tcase_add_loop_test(tc, set_never_raises_a_hard_limit, 0,
	                    ARRAY_SIZE(sets));
	tcase_add_test(tc, what_is_not_selected_stays);
	tcase_add_loop_test(tc, selection, 0, ARRAY_SIZE(selections));
	tcase_add_test(tc, all_and_none_stand_alone);
}
