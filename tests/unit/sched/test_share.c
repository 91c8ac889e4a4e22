#include "aischedd/sched/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

/* total: the GPUs to divide. queue: "QUOTA WEIGHT PRIORITY REQUESTED[<PARENT]",
 * in GPUs; quota '-': none. want: the share of each queue. */
static const struct {
	const char *name;
	int64_t total;
	const char *queue[4];
	const char *want;
} cases[] = {
	{ "plenty for both, the rest stays",
	  15,
	  { "2 2 100 6", "2 2 100 6" },
	  "6 6" },
	{ "surplus by weight", 8, { "2 1 100 6", "2 3 100 6" }, "3 5" },
	{ "largest remainder gets the odd GPU",
	  11,
	  { "2 1 100 10", "2 4 100 10" },
	  "3 8" },
	{ "a quarter each rounds in file order",
	  6,
	  { "0 1 100 9", "0 1 100 9", "0 1 100 9", "0 1 100 9" },
	  "2 2 1 1" },
	{ "priority never takes quota", 4, { "2 2 1 6", "2 2 2 6" }, "2 2" },
	{ "priority takes the surplus first",
	  6,
	  { "2 100 1 6", "2 1 2 6" },
	  "2 4" },
	{ "weight 0 gets nothing above quota", 5, { "3 0 100 5" }, "3" },
	{ "quotas are not scaled down", 1, { "3 1 100 2" }, "2" },
	{ "what one does not need is divided again",
	  9,
	  { "0 1 100 1", "0 1 100 9", "0 1 100 9" },
	  "1 4 4" },
	{ "an idle queue leaves its quota",
	  8,
	  { "6 1 100 0", "2 1 100 8" },
	  "0 8" },
	{ "a fractional ask keeps its fraction",
	  4,
	  { "0 1 100 0.5", "0 1 100 9" },
	  "0.5 3" },
	{ "a parent hands down its share",
	  8,
	  { "4 1 100 0", "0 1 100 8<0", "0 1 100 8<0", "4 1 100 8" },
	  "4 2 2 4" },
	{ "an unrationed parent hands down the capacity",
	  8,
	  { "- 1 100 0", "2 1 100 8<0", "2 3 100 8<0" },
	  "- 3 5" },
};

static int64_t milli(const char *s)
{
	return (int64_t)(atof(s) * 1000 + 0.5);
}

START_TEST(share_case)
{
	uint32_t parent[4], n = 0;
	int64_t quota[4][RES_N], limit[4][RES_N], ask[4][RES_N] = { 0 };
	int64_t weight[4], priority[4], ret[4][RES_N];
	int64_t capacity[RES_N] = { 0, 0, cases[_i].total * 1000 };
	struct arena *arena = arena_new();
	char got[64] = "";

	for (; n < 4 && cases[_i].queue[n]; n++) {
		char q[16], a[16];
		long long w, p;
		unsigned up;

		ck_assert(sscanf(cases[_i].queue[n], "%15s %lld %lld %15[0-9.]",
		                 q, &w, &p, a) == 4);
		parent[n] = SNAP_NONE;
		if (strchr(cases[_i].queue[n], '<') &&
		    sscanf(strchr(cases[_i].queue[n], '<'), "<%u", &up) == 1)
			parent[n] = up;
		for (int r = 0; r < RES_N; r++)
			quota[n][r] = limit[n][r] = CONF_NONE;
		quota[n][RES_GPU] = q[0] == '-' ? CONF_NONE : milli(q);
		weight[n] = w;
		priority[n] = p;
		ask[n][RES_GPU] = milli(a);
	}
	struct snap_queues queue = {
		.n = n,
		.parent = parent,
		.quota = (const int64_t(*)[RES_N])quota,
		.limit = (const int64_t(*)[RES_N])limit,
		.weight = weight,
		.priority = priority,
	};
	share_divide(&queue, ask, capacity, ret, arena);
	for (uint32_t i = 0; i < n; i++) {
		size_t len = strlen(got);

		if (ret[i][RES_GPU] == CONF_NONE)
			snprintf(got + len, sizeof(got) - len, "%s-",
			         i ? " " : "");
		else
			snprintf(got + len, sizeof(got) - len, "%s%g",
			         i ? " " : "", (double)ret[i][RES_GPU] / 1000);
		ck_assert_int_eq(ret[i][RES_CPU], CONF_NONE);
	}
	ck_assert_msg(!strcmp(got, cases[_i].want), "%s: got %s, want %s",
	              cases[_i].name, got, cases[_i].want);
	arena_free(arena);
}
END_TEST

SUITE(share)
{
	tcase_add_loop_test(tc, share_case, 0,
	                    (int)(sizeof(cases) / sizeof(*cases)));
}
