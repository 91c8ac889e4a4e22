/* test_choose.c - choose nodes and features when a job is submitted */
#include "libcommon/client/choose.h"

#include <stdio.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* The answer of a simulated daemon to a test of "NODES CONSTRAINT": the time of
 * the start, "-" if that is not known, "!" if the job is refused. */
struct says {
	const char *of, *answer;
};

static const struct {
	const char *name, *constraint;
	int64_t nodes, most, tasks;
	struct says says[4]; /* any other choice is refused */
	const char *chosen;
} cases[] = {
	{ "the most that starts at once",
	  NULL,
	  1,
	  3,
	  9,
	  { { "1 -", "0" }, { "2 -", "0" }, { "3 -", "7" } },
	  "2 -" },
	{ "what starts first",
	  NULL,
	  1,
	  2,
	  9,
	  { { "1 -", "5" }, { "2 -", "7" } },
	  "1 -" },
	{ "fewest if nobody knows",
	  NULL,
	  1,
	  3,
	  9,
	  { { "1 -", "-" }, { "2 -", "-" }, { "3 -", "-" } },
	  "1 -" },
	{ "more if fewer never fit", NULL, 1, 4, 9, { { "3 -", "-" } }, "3 -" },
	{ "no more nodes than tasks",
	  NULL,
	  1,
	  9,
	  2,
	  { { "1 -", "0" }, { "2 -", "0" }, { "3 -", "0" } },
	  "2 -" },
	{ "none fits", NULL, 1, 2, 9, { { NULL, NULL } }, "refused" },
	{ "the feature that starts first",
	  "c&[a|b]",
	  2,
	  SPEC_UNSET,
	  2,
	  { { "2 c&a", "9" }, { "2 c&b", "4" } },
	  "2 c&b" },
	{ "the first of those that start together",
	  "[a|b]",
	  2,
	  SPEC_UNSET,
	  2,
	  { { "2 a", "4" }, { "2 b", "4" } },
	  "2 a" },
	{ "both",
	  "[a|b]",
	  1,
	  2,
	  2,
	  { { "1 a", "9" }, { "2 a", "9" }, { "1 b", "4" }, { "2 b", "4" } },
	  "2 b" },
	{ "many in few steps",
	  NULL,
	  1,
	  60000,
	  65536,
	  { { "1 -", "3" } },
	  "1 -" },
};

static int tries;

static void describe(const struct submit *submit, char ret[64])
{
	const char *constraint = submit->spec.constraint;

	snprintf(ret, 64, "%d %s", (int)submit->spec.nodes,
	         constraint ? constraint : "-");
}

static json_t *answer_to(const struct submit *submit, void *arg,
                         struct err *err)
{
	const struct says *says = arg;
	char of[64];
	long long start;

	tries++;
	describe(submit, of);
	for (int i = 0; i < 4 && says[i].of; i++) {
		if (strcmp(says[i].of, of) != 0)
			continue;
		if (sscanf(says[i].answer, "%lld", &start) != 1)
			return json_pack("{s:[{s:b, s:n}]}", "tests", "starts",
			                 0, "expected_start");
		return json_pack("{s:[{s:b, s:I}]}", "tests", "starts",
		                 start == 0, "expected_start",
		                 (json_int_t)start);
	}
	err_set(err, EINVAL, "refused");
	return NULL;
}

START_TEST(chooses)
{
	struct arena *arena = arena_new();
	struct submit submit;
	char chosen[64];
	struct err err;

	submit_init(&submit, arena, NULL, 0);
	submit.spec.nodes = cases[_i].nodes;
	submit.spec.tasks = cases[_i].tasks;
	submit.spec.constraint = cases[_i].constraint;
	submit.max_nodes = cases[_i].most;
	ck_assert(choose_needed(&submit));
	tries = 0;
	if (choose_shape(&submit, answer_to, (void *)(uintptr_t)cases[_i].says,
	                 &err) < 0)
		snprintf(chosen, sizeof(chosen), "%.60s", err.text);
	else
		describe(&submit, chosen);
	ck_assert_msg(!strcmp(chosen, cases[_i].chosen), "%s: %s, want %s",
	              cases[_i].name, chosen, cases[_i].chosen);
	ck_assert_int_le(tries, 32);
	arena_free(arena);
}
END_TEST

START_TEST(nothing_to_choose)
{
	struct arena *arena = arena_new();
	struct submit submit;

	submit_init(&submit, arena, NULL, 0);
	ck_assert(!choose_needed(&submit));
	/* No feature has to be chosen for a job on one node. */
	submit.spec.constraint = "[a|b]";
	ck_assert(!choose_needed(&submit));
	submit.spec.tasks = 2;
	ck_assert(choose_needed(&submit));
	submit.spec.nodes = 1;
	ck_assert(!choose_needed(&submit));
	arena_free(arena);
}
END_TEST

SUITE(choose)
{
	tcase_add_loop_test(tc, chooses, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, nothing_to_choose);
}
