/* test_log.c - one line per event */
#include "libcommon/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static FILE *file;
static int real_stderr;

static void catch_stderr(void)
{
	file = tmpfile();
	ck_assert_ptr_nonnull(file);
	real_stderr = dup(STDERR_FILENO);
	dup2(fileno(file), STDERR_FILENO);
	unsetenv("JOURNAL_STREAM");
	log_init(LOG_DEBUG_);
}

static void give_stderr_back(void)
{
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	fclose(file);
}

/* Returns all that was logged. */
static const char *logged(void)
{
	static char text[20000];
	size_t len;

	rewind(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	return text;
}

START_TEST(line_has_time_level_and_text)
{
	int year, month, day, hour, minute, second, end = 0;
	char level[20];

	log_warning("store slow ms=%d, waiting", 17);
	ck_assert_int_eq(sscanf(logged(),
	                        "%4d-%2d-%2dT%2d:%2d:%2d %19s store slow "
	                        "ms=17, waiting%n",
	                        &year, &month, &day, &hour, &minute, &second,
	                        level, &end),
	                 7);
	ck_assert_str_eq(level, "warning");
	ck_assert_str_eq(logged() + end, "\n");
}
END_TEST

START_TEST(levels_below_the_least_are_silent)
{
	log_init(LOG_WARNING_);
	log_debug("debug");
	log_info("info");
	log_notice("notice");
	ck_assert_str_eq(logged(), "");
	log_warning("a");
	log_err("b");
	ck_assert_ptr_nonnull(strstr(logged(), " warning a\n"));
	ck_assert_ptr_nonnull(strstr(logged(), " err b\n"));
}
END_TEST

START_TEST(values_cannot_forge_lines)
{
	log_info("job submit name=%s", "x\nerr job end\r\033[2J\177");
	ck_assert_ptr_nonnull(strstr(logged(), "name=x?err job end??[2J?\n"));
	ck_assert_ptr_eq(strchr(logged(), '\n'),
	                 logged() + strlen(logged()) - 1);
}
END_TEST

START_TEST(long_lines_are_cut)
{
	char *value = xmalloc(10000);

	memset(value, 'x', 9999);
	value[9999] = '\0';
	log_info("%s", value);
	ck_assert_uint_eq(strlen(logged()), 4096);
	ck_assert_int_eq(logged()[4095], '\n');
	free(value);
}
END_TEST

START_TEST(the_journal_gets_priorities)
{
	char stream[64];
	struct stat st;

	ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
	         (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_init(LOG_DEBUG_);
	log_err("a");
	log_debug("b");
	ck_assert_str_eq(logged(), "<3>a\n<7>b\n");
}
END_TEST

/* A shell in a service has JOURNAL_STREAM, but its stderr may be redirected. */
START_TEST(another_stream_gets_times)
{
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_init(LOG_DEBUG_);
	log_err("a");
	ck_assert_int_ne(logged()[0], '<');
}
END_TEST

START_TEST(errno_is_kept)
{
	close(STDERR_FILENO);
	errno = ENOSPC;
	log_err("a");
	ck_assert_int_eq(errno, ENOSPC);
}
END_TEST

START_TEST(repeats_are_counted_instead)
{
	struct log_limit limit = { 0 };
	unsigned skipped = 77;

	ck_assert(log_again(&limit, &skipped));
	ck_assert_uint_eq(skipped, 0);
	skipped = 77;
	ck_assert(!log_again(&limit, &skipped));
	ck_assert(!log_again(&limit, &skipped));
	ck_assert_uint_eq(skipped, 77);
	limit.last -= 60;
	ck_assert(log_again(&limit, &skipped));
	ck_assert_uint_eq(skipped, 2);
	ck_assert(!log_again(&limit, &skipped));
}
END_TEST

static void *log_some(void *arg)
{
	for (int i = 0; i < 50; i++)
		log_info("thread value=%s", (const char *)arg);
	return NULL;
}

START_TEST(lines_of_threads_do_not_mix)
{
	static char name[4][21] = { "aaaaaaaaaaaaaaaaaaaa",
		                    "bbbbbbbbbbbbbbbbbbbb",
		                    "cccccccccccccccccccc",
		                    "dddddddddddddddddddd" };
	pthread_t thread[4];
	const char *p;
	int lines = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, log_some, name[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (p = logged(); (p = strstr(p, "thread value=")); lines++) {
		p += strlen("thread value=");
		ck_assert_uint_eq(strspn(p, (char[]){ *p, 0 }), 20);
		ck_assert_int_eq(p[20], '\n');
	}
	ck_assert_int_eq(lines, 200);
}
END_TEST

SUITE(log)
{
	tcase_add_checked_fixture(tc, catch_stderr, give_stderr_back);
	tcase_add_test(tc, line_has_time_level_and_text);
	tcase_add_test(tc, levels_below_the_least_are_silent);
	tcase_add_test(tc, values_cannot_forge_lines);
	tcase_add_test(tc, long_lines_are_cut);
	tcase_add_test(tc, the_journal_gets_priorities);
	tcase_add_test(tc, another_stream_gets_times);
	tcase_add_test(tc, errno_is_kept);
	tcase_add_test(tc, repeats_are_counted_instead);
	tcase_add_test(tc, lines_of_threads_do_not_mix);
}
