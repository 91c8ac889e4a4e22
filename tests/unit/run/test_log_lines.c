#include "aischedd/run/log_lines.h"

#include <string.h>

#include "tests/unit/check.h"

#define S0 "2026-11-22T01:02:03.100000000Z "
#define S1 "2026-11-22T01:02:04.200000000Z "
#define S2 "2026-11-22T01:02:05.300000000Z "
#define S3 "2026-11-22T02:02:06.400000001+01:00 "

/* Inputs that are read one after the other, each over a new connection, and the
 * output of all together. */
static const struct {
	const char *name, *in[3], *out;
} cases[] = {
	{ "times are taken off", { S0 "a\n" S3 "b c\n" }, "a\nb c\n" },
	{ "a line that does not end", { S0 "a\n" S1 "b" }, "a\nb" },
	{ "an empty line", { S0 "\n" S0 "b\n" }, "\nb\n" },
	{ "bytes are bytes", { S0 "\xff\x01\r\n" }, "\xff\x01\r\n" },
	{ "nothing", { "" }, "" },
	{ "what was had is dropped",
	  { S1 "a\n" S1 "b\n" S2 "c\n", S1 "a\n" S1 "b\n" S2 "c\n" S2 "d\n" },
	  "a\nb\nc\nd\n" },
	{ "of a source that begins earlier, too",
	  { S0 "a\n" S1 "b\n" S3 "c\n", S0 "a\n" S1 "b\n" S3 "c\n" S3 "d\n" },
	  "a\nb\nc\nd\n" },
	{ "equal lines are different",
	  { S1 "a\n" S1 "a\n", S1 "a\n" S1 "a\n" S1 "a\n" },
	  "a\na\na\n" },
	{ "a line goes on where it broke off",
	  { S1 "a\n" S2 "bcd", S1 "a\n" S2 "bcdef\n" S2 "g\n" },
	  "a\nbcdef\ng\n" },
	{ "breaks within a break",
	  { S1 "a\n" S2 "bc", S1 "a\n" S2 "bcd", S1 "a\n" S2 "bcde\n" },
	  "a\nbcde\n" },
	{ "breaks among what was had",
	  { S1 "a\n" S1 "b\n", S1 "a", S1 "a\n" S1 "b\n" S2 "c\n" },
	  "a\nb\nc\n" },
	{ "breaks in a time",
	  { S1 "a\n2026-11-22T", S1 "a\n" S2 "b\n" },
	  "a\nb\n" },
	{ "nothing was had", { "2026-11", S1 "a\n" }, "a\n" },
	{ "a log that lost its front meanwhile",
	  { S1 "a\n" S1 "b\n", S2 "c\n" S2 "d\n" },
	  "a\nb\nc\nd\n" },
	{ "a little out of order",
	  { S2 "a\n" S1 "b\n" S2 "c\n", S2 "a\n" S1 "b\n" S2 "c\n" S1 "d\n" },
	  "a\nb\nc\nd\n" },
	{ "it may begin within a long line",
	  { S1 "a\n", "rest of a long one\n" S1 "a\n" S1 "b\n" },
	  "a\nb\n" },
};

/* Feed the input in pieces of `step` bytes. */
static void feed(struct log_lines *lines, const char *in, size_t step,
                 struct buf *out)
{
	size_t len = strlen(in);

	log_lines_begin(lines);
	for (size_t at = 0; at < len; at += step) {
		size_t n = len - at < step ? len - at : step;
		struct err err;

		ck_assert_int_eq(log_lines_feed(lines, in + at, n, out, &err),
		                 0);
	}
}

START_TEST(line_case)
{
	for (size_t step = 1; step < 50; step += 7) {
		struct log_lines lines = { 0 };
		struct buf out = { 0 };

		buf_puts(&out, "");
		for (int i = 0; i < 3 && cases[_i].in[i]; i++)
			feed(&lines, cases[_i].in[i], step, &out);
		ck_assert_msg(!strcmp(out.data, cases[_i].out),
		              "%s, %zu at a time: got '%s'", cases[_i].name,
		              step, out.data);
		buf_free(&out);
	}
}
END_TEST

START_TEST(one_asks_from_the_second_before_the_last)
{
	struct log_lines lines = { 0 };
	struct buf out = { 0 };

	ck_assert_int_eq(log_lines_since(&lines), -1);
	feed(&lines, "1970-01-01T00:01:40.9Z a\n", 9, &out);
	ck_assert_int_eq(log_lines_since(&lines), 99);
	feed(&lines, "1970-01-01T00:01:41.9Z b", 9, &out);
	ck_assert_int_eq(log_lines_since(&lines), 100);
	buf_free(&out);
}
END_TEST

START_TEST(times_can_be_kept)
{
	struct log_lines lines = { .keep_times = true };
	struct buf out = { 0 };

	feed(&lines, S0 "a\n" S1 "b", 5, &out);
	ck_assert_str_eq(out.data, S0 "a\n" S1 "b");
	buf_free(&out);
}
END_TEST

static const struct {
	const char *in, *text;
	bool at_end; /* reported only at the end of the input */
} odd[] = {
	{ "unable to retrieve container logs for containerd://1\n",
	  "unable to retrieve container logs for containerd://1", false },
	{ "unable to retrieve", "unable to retrieve", true },
	{ S0 "a\nfailed to watch\n", "failed to watch", false },
	{ S0 "a\n2026", "2026", true },
};

START_TEST(odd_case)
{
	struct log_lines lines = { 0 };
	struct buf out = { 0 };
	struct err err = { 0 };
	int rc;

	log_lines_begin(&lines);
	rc = log_lines_feed(&lines, odd[_i].in, strlen(odd[_i].in), &out, &err);
	ck_assert_int_eq(rc, odd[_i].at_end ? 0 : -1);
	if (!rc)
		ck_assert_int_eq(log_lines_end(&lines, &err), -1);
	ck_assert_int_eq(err.code, ENODATA);
	ck_assert_str_eq(err.text, odd[_i].text);
	buf_free(&out);
}
END_TEST

SUITE(log_lines)
{
	tcase_add_loop_test(tc, line_case, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(tc, one_asks_from_the_second_before_the_last);
	tcase_add_test(tc, times_can_be_kept);
	tcase_add_loop_test(tc, odd_case, 0, sizeof(odd) / sizeof(*odd));
}
