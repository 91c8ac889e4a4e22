/* test_topology.c - parse --topology, --spread and --numa */
#include "libcommon/topology.h"

#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const char *const names[] = { "zone", "block", "rack" };
static const struct strlist levels = { 3, names };

static const struct {
	const char *text;
	int need, like;
} cases[] = {
	{ "rack", 2, -1 },
	{ "rack:preferred", -1, 2 },
	{ "zone,rack:preferred", 0, 2 },
	{ "rack,zone:preferred", 2, 0 },
};

START_TEST(levels_by_index)
{
	struct topology t;
	struct err err;

	ck_assert_msg(!topology_parse(cases[_i].text, &levels, &t, &err), "%s",
	              err.text);
	ck_assert_int_eq(t.need, cases[_i].need);
	ck_assert_int_eq(t.like, cases[_i].like);
}
END_TEST

#define BAD "use LEVEL, LEVEL:preferred, or LEVEL,LEVEL:preferred"

static const struct {
	const char *text, *want;
} refused[] = {
	{ "", BAD },
	{ ",rack", BAD },
	{ "rack,", BAD },
	{ ":preferred", BAD },
	{ "zone,rack", BAD },
	{ "rack:preferred,zone", BAD },
	{ "rack:preferred,zone:preferred", BAD },
	{ "zone,rack:preferred,block", BAD },
	{ "rack:required", BAD },
	{ "shelf",
	  "there is no topology level 'shelf'; levels are zone, block, rack" },
	{ "zone,shelf:preferred", "there is no topology level 'shelf'; " },
};

START_TEST(errors_say_what_to_do)
{
	struct topology t = { 7, 7 };
	struct err err = { 0 };

	ck_assert_int_eq(topology_parse(refused[_i].text, &levels, &t, &err),
	                 -1);
	ck_assert_msg(strstr(err.text, refused[_i].want) != NULL, "%s",
	              err.text);
	ck_assert_int_eq(t.need, 7);
}
END_TEST

START_TEST(any_name_before_the_daemon_is_asked)
{
	struct topology t;

	ck_assert_int_eq(topology_parse("shelf,x:preferred", NULL, &t, NULL),
	                 0);
	ck_assert_int_eq(topology_parse("a,b", NULL, &t, NULL), -1);
}
END_TEST

START_TEST(no_levels_at_all)
{
	static const struct strlist none;
	struct topology t;
	struct err err;

	ck_assert_int_eq(topology_parse("rack", &none, &t, &err), -1);
	ck_assert_str_eq(err.text, "there is no topology level 'rack'; the "
	                           "configuration has none");
}
END_TEST

static const struct strlist named_node = { 2, (const char *const[]){ "rack",
	                                                             "node" } };

/* bad: level is ignored, and the error has this part. */
static const struct {
	const char *text;
	const struct strlist *levels;
	int level;
	bool wish;
	const char *bad;
} spreads[] = {
	{ "rack", &levels, 2, false, NULL },
	{ "zone:preferred", &levels, 0, true, NULL },
	{ "node", &levels, SPREAD_NODE, false, NULL },
	{ "node:preferred", NULL, SPREAD_NODE, true, NULL },
	{ "node", &named_node, 1, false, NULL },
	{ "shelf", NULL, 0, false, NULL },
	{ "shelf", &levels, 0, false, "there is no topology level 'shelf'" },
	{ "nodes", &levels, 0, false, "there is no topology level 'nodes'" },
	{ "", &levels, 0, false, "bad spread ''" },
	{ ":preferred", &levels, 0, false, "bad spread" },
	{ "rack:required", &levels, 0, false, "bad spread" },
	{ "zone,rack", &levels, 0, false, "bad spread" },
};

START_TEST(spread_over_a_level)
{
	struct err err = { 0 };
	bool wish = false;
	int level = 7;
	int rc = spread_parse(spreads[_i].text, spreads[_i].levels, &level,
	                      &wish, &err);

	ck_assert_int_eq(rc, spreads[_i].bad ? -1 : 0);
	if (spreads[_i].bad) {
		ck_assert_msg(strstr(err.text, spreads[_i].bad) != NULL, "%s",
		              err.text);
		return;
	}
	ck_assert_int_eq(level, spreads[_i].level);
	ck_assert(wish == spreads[_i].wish);
}
END_TEST

START_TEST(numa)
{
	ck_assert_int_eq(numa_parse(NULL), 0);
	ck_assert_int_eq(numa_parse("prefer"), 1);
	ck_assert_int_eq(numa_parse("strict"), 2);
	ck_assert_int_eq(numa_parse("tight"), 3);
	ck_assert_int_eq(numa_parse("any"), -1);
	ck_assert_int_eq(numa_parse(""), -1);
	ck_assert_int_eq(links_parse(NULL), 0);
	ck_assert_int_eq(links_parse("prefer"), 0);
	ck_assert_int_eq(links_parse("any"), 1);
	ck_assert_int_eq(links_parse("strict"), 2);
	ck_assert_int_eq(links_parse("tight"), -1);
}
END_TEST

SUITE(topology)
{
	tcase_add_loop_test(tc, levels_by_index, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(tc, errors_say_what_to_do, 0, ARRAY_SIZE(refused));
	tcase_add_test(tc, any_name_before_the_daemon_is_asked);
	tcase_add_test(tc, no_levels_at_all);
	tcase_add_loop_test(tc, spread_over_a_level, 0, ARRAY_SIZE(spreads));
	tcase_add_test(tc, numa);
}
