#include "aischedd/run/log_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define STAMP "2026-11-22T01:02:03.100000000Z "

static char dir[] = "/tmp/test_log_file.XXXXXX";
static const struct log_id first = { 7, 1, 0, 0 };

static void set_up(void)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void tear_down(void)
{
	ck_assert_int_eq(log_remove(dir, 7, NULL), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}

/* Returns the lines of a log without their times; sets *ret_omitted to the
 * number of bytes that are missing. */
static char *read_back(const struct log_id *id, int64_t *ret_omitted)
{
	struct log_reader *r = log_reader_open(dir, id, NULL);
	struct buf raw = { 0 }, out = { 0 };
	char data[100];
	ssize_t n;

	ck_assert_ptr_nonnull(r);
	while ((n = log_reader_read(r, data, sizeof(data), NULL)) > 0)
		buf_add(&raw, data, (size_t)n);
	ck_assert_int_eq(n, 0);
	*ret_omitted = log_reader_omitted(r);
	log_reader_close(r);
	buf_puts(&out, "");
	for (char *rest = raw.data, *line; rest && *rest;) {
		line = strsep(&rest, "\n");
		ck_assert_msg(!strncmp(line, STAMP, strlen(STAMP)), "'%s'",
		              line);
		buf_printf(&out, "%s%s", line + strlen(STAMP),
		           rest ? "\n" : "");
	}
	buf_free(&raw);
	return buf_take(&out);
}

static void write_lines(struct log_writer *w, int from, int to)
{
	for (int i = from; i < to; i++) {
		char line[80];
		int n = snprintf(line, sizeof(line), STAMP "line %03d\n", i);

		ck_assert_int_eq(log_writer_add(w, line, (size_t)n, NULL), 0);
	}
}

static bool is_kept(const struct log_id *id)
{
	struct err err;
	struct log_reader *r = log_reader_open(dir, id, &err);

	ck_assert(r || err.code == ENOENT);
	log_reader_close(r);
	return r != NULL;
}

START_TEST(what_is_kept_comes_back)
{
	struct log_writer *w = log_writer_new(dir, &first, 1000, NULL);
	int64_t omitted;
	struct stat st;
	char *text;

	write_lines(w, 0, 2);
	ck_assert(!is_kept(&first));
	ck_assert_int_eq(log_writer_end(w, NULL), 0);
	ck_assert(is_kept(&first));
	text = read_back(&first, &omitted);
	ck_assert_str_eq(text, "line 000\nline 001\n");
	ck_assert_int_eq(omitted, 0);
	free(text);
	text = xasprintf("%s/7/1.0.gz", dir);
	ck_assert_int_eq(stat(text, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	free(text);
}
END_TEST

START_TEST(nothing_is_kept_as_nothing)
{
	int64_t omitted;
	char *text;

	ck_assert_int_eq(
	    log_writer_end(log_writer_new(dir, &first, 100, NULL), NULL), 0);
	text = read_back(&first, &omitted);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

START_TEST(the_end_is_kept_of_what_is_too_much)
{
	enum { LINES = 500, LINE = 9, LIMIT = 300 };
	struct log_writer *w = log_writer_new(dir, &first, LIMIT, NULL);
	size_t len;
	int64_t omitted;
	char *text;

	write_lines(w, 0, LINES);
	ck_assert_int_eq(log_writer_end(w, NULL), 0);
	text = read_back(&first, &omitted);
	len = strlen(text);
	ck_assert_uint_le(len, LIMIT);
	ck_assert_uint_ge(len, LIMIT / 3);
	ck_assert_int_eq((int64_t)len + omitted, LINES * LINE);
	ck_assert_str_eq(text + len - LINE, "line 499\n");
	ck_assert_int_eq(strncmp(text, "line ", 5), 0); /* whole lines */
	free(text);
}
END_TEST

START_TEST(a_line_longer_than_the_limit_is_cut)
{
	struct log_writer *w = log_writer_new(dir, &first, 100, NULL);
	char line[1000], *text;
	int64_t omitted;

	memset(line, 'x', sizeof(line));
	memcpy(line, STAMP, strlen(STAMP));
	line[sizeof(line) - 2] = 'z';
	line[sizeof(line) - 1] = '\n';
	ck_assert_int_eq(log_writer_add(w, line, sizeof(line), NULL), 0);
	ck_assert_int_eq(log_writer_end(w, NULL), 0);
	text = read_back(&first, &omitted);
	ck_assert_uint_le(strlen(text), 100 + 1);
	ck_assert_str_eq(text + strlen(text) - 3, "xz\n");
	free(text);
}
END_TEST

START_TEST(what_is_dropped_leaves_nothing)
{
	struct log_writer *w = log_writer_new(dir, &first, 100, NULL);
	char *path = xasprintf("%s/7", dir);

	write_lines(w, 0, 100);
	log_writer_drop(w);
	ck_assert(!is_kept(&first));
	ck_assert_int_eq(rmdir(path), 0); /* empty */
	free(path);
}
END_TEST

START_TEST(writing_again_replaces)
{
	struct log_writer *w = log_writer_new(dir, &first, 1000, NULL);
	int64_t omitted;
	char *text;

	write_lines(w, 0, 3);
	ck_assert_int_eq(log_writer_end(w, NULL), 0);
	w = log_writer_new(dir, &first, 1000, NULL);
	write_lines(w, 5, 6);
	ck_assert_int_eq(log_writer_end(w, NULL), 0);
	text = read_back(&first, &omitted);
	ck_assert_str_eq(text, "line 005\n");
	free(text);
}
END_TEST

START_TEST(a_list_is_in_order)
{
	static const struct log_id ids[] = { { 7, 2, 0, 0 },
		                             { 7, 1, 10, 0 },
		                             { 7, 1, 9, 12 },
		                             { 7, 1, 9, 2 },
		                             { 7, 1, 9, 0 } };
	enum { N = sizeof(ids) / sizeof(*ids) };
	struct log_id *list;

	ck_assert_uint_eq(log_list(dir, 7, &list), 0);
	for (int i = 0; i < N; i++)
		log_writer_end(log_writer_new(dir, &ids[i], 10, NULL), NULL);
	ck_assert_uint_eq(log_list(dir, 7, &list), N);
	for (int i = 0; i < N; i++)
		ck_assert_int_eq(log_id_cmp(&list[i], &ids[N - 1 - i]), 0);
	free(list);
	ck_assert_uint_eq(log_list(dir, 8, &list), 0);
}
END_TEST

START_TEST(the_sizes_of_all_files_are_added_up)
{
	char *path = xasprintf("%s/7/1.0.gz", dir);
	atomic_bool stop = false;

	ck_assert_int_eq(log_total(dir, &stop), 0);
	ck_assert_int_eq(log_total("/nosuch", &stop), 0);
	log_writer_end(log_writer_new(dir, &first, 10, NULL), NULL);
	log_writer_end(
	    log_writer_new(dir, &(struct log_id){ 7, 2, 0, 0 }, 10, NULL),
	    NULL);
	ck_assert_int_eq(truncate(path, 3000), 0);
	*strrchr(path, '1') = '2';
	ck_assert_int_eq(truncate(path, 400), 0);
	ck_assert_int_eq(log_total(dir, &stop), 3400);
	stop = true;
	ck_assert_int_eq(log_total(dir, &stop), 0);
	free(path);
}
END_TEST

START_TEST(a_damaged_file_is_an_error)
{
	struct log_writer *w = log_writer_new(dir, &first, 100000, NULL);
	char *path = xasprintf("%s/7/1.0.gz", dir), data[1000];
	struct log_reader *r;
	struct err err;
	ssize_t n;

	write_lines(w, 0, 500);
	ck_assert_int_eq(log_writer_end(w, NULL), 0);
	ck_assert_int_eq(truncate(path, 300), 0);
	r = log_reader_open(dir, &first, NULL);
	while ((n = log_reader_read(r, data, sizeof(data), &err)) > 0)
		;
	ck_assert_int_eq(n, -1);
	ck_assert_int_eq(err.code, EIO);
	log_reader_close(r);
	free(path);
}
END_TEST

/* Simulates a full disk. */
START_TEST(no_space_is_an_error)
{
	struct log_writer *w = log_writer_new(dir, &first, 1 << 30, NULL);
	struct rlimit limit = { 0 };
	char line[80];
	struct err err = { 0 };
	int rc = 0;

	getrlimit(RLIMIT_FSIZE, &limit);
	signal(SIGXFSZ, SIG_IGN);
	limit.rlim_cur = 2000;
	setrlimit(RLIMIT_FSIZE, &limit);
	for (unsigned i = 1; !rc && i < 100000; i++) {
		int n =
		    snprintf(line, sizeof(line), STAMP "%x\n", i * 2654435761u);

		rc = log_writer_add(w, line, (size_t)n, &err);
	}
	log_writer_drop(w);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(err.code, EFBIG);
	ck_assert(!is_kept(&first));
}
END_TEST

SUITE(log_file)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, what_is_kept_comes_back);
	tcase_add_test(tc, nothing_is_kept_as_nothing);
	tcase_add_test(tc, the_end_is_kept_of_what_is_too_much);
	tcase_add_test(tc, a_line_longer_than_the_limit_is_cut);
	tcase_add_test(tc, what_is_dropped_leaves_nothing);
	tcase_add_test(tc, writing_again_replaces);
	tcase_add_test(tc, a_list_is_in_order);
	tcase_add_test(tc, the_sizes_of_all_files_are_added_up);
	tcase_add_test(tc, a_damaged_file_is_an_error);
	tcase_add_test(tc, no_space_is_an_error);
}
