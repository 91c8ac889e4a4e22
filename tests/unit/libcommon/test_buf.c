/* test_buf.c - growing buffers */
#include "libcommon/buf.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

START_TEST(text_grows)
{
	struct buf buf = { 0 };

	buf_puts(&buf, "ab");
	buf_addc(&buf, 'c');
	buf_add(&buf, "de\0f", 4);
	buf_add(&buf, NULL, 0);
	ck_assert_uint_eq(buf.len, 7);
	ck_assert_int_eq(memcmp(buf.data, "abcde\0f", 8), 0);
	buf_clear(&buf);
	ck_assert_uint_eq(buf.len, 0);
	ck_assert_str_eq(buf.data, "");
	buf_free(&buf);
	ck_assert_ptr_null(buf.data);
	buf_clear(&buf);
	buf_free(&buf);
}
END_TEST

/* Lengths around 128, above which buf_printf() must call vsnprintf() twice. */
START_TEST(printf_of_any_length)
{
	static const int len[] = { 0, 1, 126, 127, 128, 129, 5000 };
	struct buf buf = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(len); i++) {
		buf_clear(&buf);
		buf_puts(&buf, "<");
		buf_printf(&buf, "%*s>", len[i], "");
		ck_assert_uint_eq(buf.len, (size_t)len[i] + 2);
		ck_assert_int_eq(buf.data[buf.len - 1], '>');
		ck_assert_int_eq(buf.data[buf.len], '\0');
	}
	buf_free(&buf);
}
END_TEST

static const struct {
	int64_t value;
	const char *want;
} numbers[] = {
	{ 0, "0" },
	{ 7, "7" },
	{ -7, "-7" },
	{ 1000000, "1000000" },
	{ INT64_MAX, "9223372036854775807" },
	{ INT64_MIN, "-9223372036854775808" },
};

START_TEST(number)
{
	struct buf buf = { 0 };

	buf_i64(&buf, numbers[_i].value);
	ck_assert_str_eq(buf.data, numbers[_i].want);
	buf_free(&buf);
}
END_TEST

#define NO_UTF8 "\xef\xbf\xbd"

static const struct {
	const char *text, *want;
} jsons[] = {
	{ "", "\"\"" },
	{ "plain", "\"plain\"" },
	{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
	{ "\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\"" },
	{ "é€𝄞", "\"é€𝄞\"" },
	{ "\xc2\x9b"
	  "31m\xc2\xa0",
	  "\"\\u009b31m\xc2\xa0\"" },
	{ "\u202ea\u2066\u200f\u061c\u2028\ufeff",
	  "\"\\u202ea\\u2066\\u200f\\u061c\\u2028\\ufeff\"" },
	{ "a\xff"
	  "b",
	  "\"a" NO_UTF8 "b\"" },
	{ "\xc3", "\"" NO_UTF8 "\"" },             /* cut */
	{ "\xe2\x82", "\"" NO_UTF8 NO_UTF8 "\"" }, /* cut */
	{ "\xc0\xaf", "\"" NO_UTF8 NO_UTF8 "\"" }, /* an overlong '/' */
	{ "\xed\xa0\x80", "\"" NO_UTF8 NO_UTF8 NO_UTF8 "\"" }, /* surrogate */
	{ "\xf4\x90\x80\x80", "\"" NO_UTF8 NO_UTF8 NO_UTF8 NO_UTF8 "\"" },
};

START_TEST(json)
{
	struct buf buf = { 0 };

	buf_json(&buf, jsons[_i].text);
	ck_assert_str_eq(buf.data, jsons[_i].want);
	buf_free(&buf);
}
END_TEST

START_TEST(room_is_filled_by_others)
{
	struct buf buf = { 0 };

	memcpy(buf_room(&buf, 1000), "abc", 3);
	buf_grew(&buf, 3);
	ck_assert_uint_ge(buf.cap, 1001);
	ck_assert_str_eq(buf.data, "abc");
	buf_free(&buf);
}
END_TEST

START_TEST(taken_text_is_never_null)
{
	struct buf buf = { 0 };
	char *text = buf_take(&buf);

	ck_assert_str_eq(text, "");
	free(text);
	buf_puts(&buf, "abc");
	text = buf_take(&buf);
	ck_assert_str_eq(text, "abc");
	ck_assert_ptr_null(buf.data);
	free(text);
}
END_TEST

START_TEST(lines_of_a_text)
{
	const char *at = "one\n\nlast";
	size_t len;

	ck_assert_ptr_nonnull(text_line(&at, &len));
	ck_assert_uint_eq(len, 3);
	ck_assert_ptr_nonnull(text_line(&at, &len));
	ck_assert_uint_eq(len, 0);
	ck_assert_str_eq(text_line(&at, &len), "last");
	ck_assert_uint_eq(len, 4);
	ck_assert_ptr_null(text_line(&at, &len));
	at = NULL;
	ck_assert_ptr_null(text_line(&at, &len));
}
END_TEST

SUITE(buf)
{
	tcase_add_test(tc, text_grows);
	tcase_add_test(tc, printf_of_any_length);
	tcase_add_loop_test(tc, number, 0, ARRAY_SIZE(numbers));
	tcase_add_loop_test(tc, json, 0, ARRAY_SIZE(jsons));
	tcase_add_test(tc, room_is_filled_by_others);
	tcase_add_test(tc, taken_text_is_never_null);
	tcase_add_test(tc, lines_of_a_text);
}
