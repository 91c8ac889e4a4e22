/* test_durable.c - files whose names survive a crash of the machine */
#include "libcommon/durable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static struct stat synced[8];
static int nsynced;

/* Replaces that of libc, to note what is synced. */
int fsync(int fd)
{
	if (nsynced < (int)ARRAY_SIZE(synced))
		fstat(fd, &synced[nsynced++]);
	return (int)syscall(SYS_fsync, fd);
}

static void is_synced(int i, const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_lt(i, nsynced);
	ck_assert_uint_eq(synced[i].st_ino, st.st_ino);
}

START_TEST(file_and_folders_are_synced)
{
	char top[] = "/tmp/durable.XXXXXX", folder[64], file[80];
	struct err err;

	ck_assert_ptr_nonnull(mkdtemp(top));
	snprintf(folder, sizeof(folder), "%s/new", top);
	snprintf(file, sizeof(file), "%s/file", folder);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	nsynced = 0;
	ck_assert_int_eq(durable_touch(file, 1, &err), 0);
	ck_assert_int_eq(nsynced, 3);
	is_synced(0, file);
	is_synced(1, folder);
	is_synced(2, top);
	ck_assert_int_eq(durable_touch(file, 1, &err), 0);
	ck_assert_int_eq(nsynced, 3);
	unlink(file);
	rmdir(folder);
	ck_assert_int_eq(durable_touch(file, 1, &err), -1);
	ck_assert_int_eq(err.code, ENOENT);
	rmdir(top);
}
END_TEST

START_TEST(a_file_is_written_only_if_its_content_differs)
{
	static const char *const texts[] = { "one", "two", "two!", "two", "" };
	char top[] = "/tmp/durable.XXXXXX", file[64];
	struct err err;

	ck_assert_ptr_nonnull(mkdtemp(top));
	snprintf(file, sizeof(file), "%s/file", top);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (int again = 0; again < 2; again++) {
			size_t len = strlen(texts[i]);

			nsynced = 0;
			ck_assert_int_eq(
			    durable_write(file, texts[i], len, 0, &err), 0);
			ck_assert_int_eq(nsynced, again ? 0 : 2);
		}
	unlink(file);
	rmdir(top);
}
END_TEST

SUITE(durable)
{
	tcase_add_test(tc, file_and_folders_are_synced);
	tcase_add_test(tc, a_file_is_written_only_if_its_content_differs);
}
