/* test_step_msg.c - requests for steps, and names of their files */
#include "libcommon/step_msg.h"

#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const struct step_request sample = {
	.tasks = 3,
	.flags = STEP_EXACT | STEP_PIPE_OUT,
	.cpus = 2,
	.mem_mib = 100,
	.gpus = -1,
	.limit_s = 60,
	.umask = 022,
	.rank = 2,
	.rows = 33,
	.columns = 44,
	.task = { 1, STEP_ALL_TASKS, STEP_ALL_TASKS },
	.name = "name",
	.job_name = "",
	.cwd = "/w",
	.file = { NULL, "/o.%t", NULL },
};

static void pack(const struct step_request *req, struct buf *out)
{
	char *const argv[] = { (char[]){ "prog" }, (char[]){ "" },
		               (char[]){ "\xff" }, NULL };
	char *const env[] = { (char[]){ "A=1" }, NULL };

	step_request_pack(req, argv, env, out);
}

START_TEST(a_request_arrives_as_it_was)
{
	struct step_request got;
	struct buf text = { 0 };
	const char *at, *end;

	pack(&sample, &text);
	ck_assert_int_eq(step_request_parse(text.data, text.len, &got, NULL),
	                 0);
	ck_assert_int_eq(got.tasks, 3);
	ck_assert_int_eq(got.flags, STEP_EXACT | STEP_PIPE_OUT);
	ck_assert_int_eq(got.cpus, 2);
	ck_assert_int_eq(got.mem_mib, 100);
	ck_assert_int_eq(got.gpus, -1);
	ck_assert_int_eq(got.limit_s, 60);
	ck_assert_int_eq(got.umask, 022);
	ck_assert_int_eq(got.rank, 2);
	ck_assert_int_eq(got.rows, 33);
	ck_assert_int_eq(got.columns, 44);
	ck_assert_int_eq(got.task[0], 1);
	ck_assert_int_eq(got.argc, 3);
	ck_assert_str_eq(got.name, "name");
	ck_assert_str_eq(got.job_name, "");
	ck_assert_str_eq(got.cwd, "/w");
	ck_assert_str_eq(got.file[0], "");
	ck_assert_str_eq(got.file[1], "/o.%t");
	at = got.texts;
	end = at + got.texts_len;
	ck_assert_str_eq(step_next_text(&at, end), "prog");
	ck_assert_str_eq(step_next_text(&at, end), "");
	ck_assert_str_eq(step_next_text(&at, end), "\xff");
	ck_assert_str_eq(step_next_text(&at, end), "A=1");
	ck_assert_ptr_null(step_next_text(&at, end));
	buf_free(&text);
}
END_TEST

START_TEST(a_part_of_a_request_is_none)
{
	struct step_request got;
	struct buf text = { 0 };

	pack(&sample, &text);
	ck_assert_int_eq(step_request_parse(text.data, text.len, &got, NULL),
	                 0);
	for (const char *end = got.texts - 1; end >= text.data; end--)
		ck_assert_int_eq(step_request_parse(text.data,
		                                    (size_t)(end - text.data),
		                                    &got, NULL),
		                 -1);
	buf_free(&text);
}
END_TEST

#define BAD(member, value)                            \
	{                                             \
#member " = " #value,                 \
		{                                     \
			.tasks = 1, .member = (value) \
		}                                     \
	}

static const struct {
	const char *name;
	struct step_request req;
} bad[] = {
	{ "no tasks", { .tasks = 0 } },
	{ "too many tasks", { .tasks = STEP_TASKS_MAX + 1 } },
	BAD(flags, -1),
	BAD(flags, 2 * STEP_AS_TASK),
	BAD(rank, -1),
	BAD(rows, -1),
	BAD(columns, 65536),
	BAD(cpus, -1),
	BAD(mem_mib, -1),
	BAD(gpus, 65),
	BAD(gpus, -2),
	BAD(limit_s, -1),
	BAD(umask, 01000),
	BAD(task[2], -2),
	BAD(cpus, INT64_MAX),
	{ "a terminal for two", { .tasks = 2, .flags = STEP_PTY } },
};

START_TEST(numbers_have_bounds)
{
	struct step_request got;
	struct buf text = { 0 };

	pack(&bad[_i].req, &text);
	ck_assert_msg(step_request_parse(text.data, text.len, &got, NULL) < 0,
	              "%s is taken", bad[_i].name);
	buf_free(&text);
}
END_TEST

START_TEST(a_step_needs_a_program)
{
	char *const none[] = { NULL };
	struct step_request got;
	struct buf text = { 0 };

	step_request_pack(&sample, none, none, &text);
	ck_assert_int_eq(step_request_parse(text.data, text.len, &got, NULL),
	                 -1);
	buf_free(&text);
}
END_TEST

static const struct {
	const char *pattern, *want;
} names[] = {
	{ "/o", "/o" },        { "/%t", "/2" },    { "/%s", "/7" },
	{ "/%J", "/17.7" },    { "/%3t", "/002" }, { "/%99s", "/0000000007" },
	{ "/100%%", "/100%" }, { "/%j", "/%j" },   { "/%", "/%" },
	{ "/%s_%t", "/7_2" },
};

START_TEST(names_are_expanded)
{
	struct buf out = { 0 };

	step_file_expand(names[_i].pattern, 17, 7, 2, &out);
	ck_assert_str_eq(out.data, names[_i].want);
	buf_free(&out);
}
END_TEST

SUITE(step_msg)
{
	tcase_add_test(tc, a_request_arrives_as_it_was);
	tcase_add_test(tc, a_part_of_a_request_is_none);
	tcase_add_loop_test(tc, numbers_have_bounds, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, a_step_needs_a_program);
	tcase_add_loop_test(tc, names_are_expanded, 0, ARRAY_SIZE(names));
}
