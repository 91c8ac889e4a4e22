/* test_jobid.c - parse the three forms of job ids */
#include "libcommon/jobid.h"

#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const struct {
	const char *text;
	uint64_t job; /* 0: refused */
	const char *tasks;
} cases[] = {
	{ "12", 12, "" },
	{ "9223372036854775807", INT64_MAX, "" },
	{ "12_3", 12, "3" },
	{ "12_0", 12, "0" },
	{ "12_1000000", 12, "1000000" },
	{ "12_[1-5,9]", 12, "1-5,9" },
	{ "12_[7]", 12, "7" },
	{ "0", 0, NULL },
	{ "", 0, NULL },
	{ "_3", 0, NULL },
	{ "-1", 0, NULL },
	{ "+1", 0, NULL },
	{ " 1", 0, NULL },
	{ "1 ", 0, NULL },
	{ "12.batch", 0, NULL },
	{ "12+1", 0, NULL },
	{ "9223372036854775808", 0, NULL },
	{ "12_", 0, NULL },
	{ "12_x", 0, NULL },
	{ "12_1-5", 0, NULL },
	{ "12_1_2", 0, NULL },
	{ "12_[", 0, NULL },
	{ "12_[]", 0, NULL },
	{ "12_[1-5", 0, NULL },
	{ "12_[1-5]x", 0, NULL },
	{ "12_[1-5%2]", 0, NULL },
	{ "12_1000001", 0, NULL },
	{ "12_[0-1000001]", 0, NULL },
};

START_TEST(parse)
{
	struct jobid id = { .job = 77 };
	struct buf tasks = { 0 };
	struct err err = { 0 };
	int rc = jobid_parse(&id, cases[_i].text, &err);

	if (!cases[_i].job) {
		ck_assert_msg(rc == -1, "'%s' was taken", cases[_i].text);
		ck_assert(err.code == EINVAL || err.code == ERANGE);
		ck_assert_msg(!strncmp(err.text, "bad job id '", 12), "%s",
		              err.text);
		ck_assert_uint_eq(id.job, 77);
		return;
	}
	ck_assert_msg(!rc, "%s", err.text);
	ck_assert_uint_eq(id.job, cases[_i].job);
	buf_puts(&tasks, "");
	idset_format(&id.tasks, &tasks);
	ck_assert_str_eq(tasks.data, cases[_i].tasks);
	buf_free(&tasks);
	idset_free(&id.tasks);
}
END_TEST

SUITE(jobid)
{
	tcase_add_loop_test(tc, parse, 0, ARRAY_SIZE(cases));
}
