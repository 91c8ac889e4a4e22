/*
 * test_scenario.c - each scenario of tests/scenario gives the expected plan
 *
 * Each file has a snapshot, a line of three hyphens and the exact plan that is
 * expected. If another plan comes out, the failing test prints it.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/check/plan_check.h"
#include "aischedd/sched/text/text.h"
#include "tests/unit/check.h"

static glob_t files;

static char *read_file(const char *path)
{
	struct buf text = { 0 };
	char part[4096];
	size_t n;
	FILE *f = fopen(path, "r");

	ck_assert_msg(f != NULL, "%s", path);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(&text, part, n);
	fclose(f);
	return buf_take(&text);
}

static void write_plan(const struct snap *snap, struct buf *out)
{
	struct arena *arena = arena_new();
	const struct plan *plan = sched_plan(snap, arena);
	struct err why;

	ck_assert_msg(plan_check(snap, plan, &why) == 0, "%s", why.text);
	plan_write(snap, plan, out);
	buf_puts(out, ""); /* makes out->data a string if the plan is empty */
	arena_free(arena);
}

/* Check that a snapshot that is written and read again gives the same text and
 * the same plan. */
static void check_text(const struct snap *snap, const struct buf *plan)
{
	struct arena *arena = arena_new();
	struct buf once = { 0 }, twice = { 0 }, again = { 0 };
	const struct snap *copy;
	struct err why;

	snap_write(snap, &once);
	copy = snap_read(once.data, arena, &why);
	ck_assert_msg(copy != NULL, "%s in\n%s", why.text, once.data);
	snap_write(copy, &twice);
	ck_assert_str_eq(once.data, twice.data);
	write_plan(copy, &again);
	ck_assert_uint_eq(plan->len, again.len);
	ck_assert_mem_eq(plan->data, again.data, again.len);
	buf_free(&once);
	buf_free(&twice);
	buf_free(&again);
	arena_free(arena);
}

START_TEST(scenario)
{
	const char *path = files.gl_pathv[_i];
	char *text = read_file(path), *want = strstr(text, "\n---\n");
	struct arena *arena = arena_new();
	struct buf got = { 0 };
	const struct snap *snap;
	struct err why;

	ck_assert_msg(want != NULL, "%s has no plan", path);
	want[1] = 0;
	snap = snap_read(text, arena, &why);
	ck_assert_msg(snap != NULL, "%s: %s", path, why.text);
	write_plan(snap, &got);
	ck_assert_msg(!strcmp(got.data, want + 5), "%s: want\n%sgot\n%s", path,
	              want + 5, got.data);
	check_text(snap, &got);
	buf_free(&got);
	arena_free(arena);
	free(text);
}
END_TEST

START_TEST(there_are_scenarios)
{
	ck_assert_msg(files.gl_pathc > 0,
	              "no tests/scenario/*.scn: $top_srcdir says where the "
	              "sources are");
}
END_TEST

SUITE(sched_scenario)
{
	const char *top = getenv("top_srcdir");
	char pattern[4096];

	snprintf(pattern, sizeof(pattern), "%s/tests/scenario/*.scn",
	         top ? top : ".");
	glob(pattern, 0, NULL, &files);
	tcase_add_test(tc, there_are_scenarios);
	tcase_add_loop_test(tc, scenario, 0, (int)files.gl_pathc);
}
