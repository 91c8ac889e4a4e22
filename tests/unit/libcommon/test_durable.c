/* test_durable.c - files whose names survive a crash of the machine */
#include "libcommon/durable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

SUITE(durable)
{
	tcase_add_test(tc, file_and_folders_are_synced);
}
