/* test_mail.c - types of mails, addresses and headers */
#include "libcommon/mail.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

START_TEST(lists_of_types)
{
	static const struct {
		const char *text;
		int64_t types; /* -1: bad */
	} cases[] = {
		{ "NONE", 0 },
		{ "END", MAIL_BIT(MAIL_END) },
		{ "end,Fail", MAIL_BIT(MAIL_END) | MAIL_BIT(MAIL_FAIL) },
		{ "ALL,ARRAY_TASKS", 31 | MAIL_BIT(MAIL_ARRAY_TASKS) },
		{ "STAGE_OUT,BEGIN", MAIL_BIT(MAIL_BEGIN) },
		{ "TIME_LIMIT", MAIL_BIT(MAIL_TIME_LIMIT) },
		{ "cron_skipped", MAIL_BIT(MAIL_CRON_SKIPPED) },
		{ "IDLE_GPU", MAIL_BIT(MAIL_IDLE_GPU) },
		{ "", -1 },
		{ "END,", -1 },
		{ "EN", -1 },
		{ "END;FAIL", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t types = -1;
		struct err err;

		mail_types_parse(cases[i].text, &types, &err);
		ck_assert_msg(types == cases[i].types, "'%s': %lld",
		              cases[i].text, (long long)types);
	}
}
END_TEST

START_TEST(types_as_a_list)
{
	struct buf out = { 0 };
	int64_t types;

	mail_types_format(0, &out);
	ck_assert_uint_eq(out.len, 0);
	for (int64_t all = 1; all < MAIL_BIT(MAIL_NTYPES); all++) {
		struct err err;

		buf_clear(&out);
		mail_types_format(all, &out);
		ck_assert_int_eq(mail_types_parse(out.data, &types, &err), 0);
		ck_assert_int_eq(types, all);
	}
	ck_assert_str_eq(out.data,
	                 "BEGIN,END,FAIL,REQUEUE,INVALID_DEPEND,TIME_LIMIT,"
	                 "TIME_LIMIT_50,TIME_LIMIT_80,TIME_LIMIT_90,"
	                 "ARRAY_TASKS,CRON_SKIPPED,IDLE_GPU");
	buf_free(&out);
}
END_TEST

START_TEST(addresses)
{
	static const char *const good[] = {
		"alice",       "a.b+c@x.example", "o'neil@a-b.example",
		"a@localhost", "system_1@x",
	};
	static const char *const bad[] = {
		"",        "@x.example", "a@",        "a@@x",       "a b@x",
		"a@x y",   "a,b@x",      "-oQ/tmp@x", "-f",         "a..b@x",
		".a@x",    "a.@x",       "a@-x",      "a@x-",       "a@x..y",
		"a@x.",    "\"a b\"@x",  "a@[::1]",   "a@x\nBcc:b", "<a@x>",
		"a@x,b@x", "a;b",        "a|b@",      "\xc3\xa4@x", "|id",
		"/tmp/x",  "|id@x",
	};
	char longest[128];
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(mail_check_address(good[i], &err) == 0, "%s",
		              good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(mail_check_address(bad[i], &err) < 0, "%s",
		              bad[i]);
	memset(longest, 'a', sizeof(longest));
	longest[64] = '\0';
	ck_assert_int_eq(mail_check_address(longest, &err), 0);
	longest[64] = 'a';
	longest[65] = '\0';
	ck_assert_int_lt(mail_check_address(longest, &err), 0);
	ck_assert_str_eq(mail_domain("a@x.example"), "x.example");
	ck_assert_ptr_null(mail_domain("a"));
}
END_TEST

static void header_is(const char *text, const char *expected)
{
	struct buf out = { 0 };

	mail_put_header(&out, "Subject", text);
	ck_assert_str_eq(out.data, expected);
	buf_free(&out);
}

START_TEST(headers)
{
	char longest[2000];
	struct buf out = { 0 };

	header_is("plain text", "Subject: plain text\n");
	header_is("a\nBcc: b@x", "Subject: =?UTF-8?B?YQpCY2M6IGJAeA==?=\n");
	header_is("=?UTF-8?B?eA==?=",
	          "Subject: =?UTF-8?B?PT9VVEYtOD9CP2VBPT0/PQ==?=\n");
	header_is("gr\xc3\xbc\xc3\x9f", "Subject: =?UTF-8?B?Z3LDvMOf?=\n");
	/* An encoded word must not end within a UTF-8 sequence: here the words
	 * have 44 and 2 bytes. */
	header_is(
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xbc",
	    "Subject: =?UTF-8?B?"
	    "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=?=\n"
	    " =?UTF-8?B?w7w=?=\n");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	mail_put_header(&out, "Subject", longest);
	ck_assert_uint_lt(out.len, 600);
	buf_free(&out);
}
END_TEST

SUITE(mail)
{
	tcase_add_test(tc, lists_of_types);
	tcase_add_test(tc, types_as_a_list);
	tcase_add_test(tc, addresses);
	tcase_add_test(tc, headers);
}
