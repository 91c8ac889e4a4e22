/* space.c - jobs can be ended on a full disk */
#include "aischedd/store/space.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "aischedd/store/own.h"
#include "libcommon/mem.h"

enum {
	RESERVE = 8 << 20, /* twice the length of the log at a checkpoint */
	RESERVE_PART = 8,  /* at most this fraction of what is free */
	LITTLE = 1 << 20,  /* a disk with less free is full */
	LITTLE_PART = 32   /* or, if it is small, less than this fraction */
};

static int64_t bytes(const struct statvfs *fs, fsblkcnt_t blocks)
{
	return (int64_t)blocks * (int64_t)fs->f_frsize;
}

/* Returns what this process may still use. */
static int64_t bytes_free(const struct statvfs *fs)
{
	return bytes(fs, geteuid() == 0 ? fs->f_bfree : fs->f_bavail);
}

void space_reserve(const struct store *store)
{
	char *path = xasprintf("%s-wal", store->path);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int64_t size = RESERVE;
	struct statvfs fs;

	/* SQLite holds no locks on this file that closing could drop. */
	if (fd >= 0 && fstatvfs(fd, &fs) == 0) {
		if (size > bytes_free(&fs) / RESERVE_PART)
			size = bytes_free(&fs) / RESERVE_PART;
		if (size > 0)
			(void)!fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size);
	}
	if (fd >= 0)
		close(fd);
	free(path);
}

bool space_is_low(const struct store *store)
{
	struct statvfs fs;
	int64_t least = LITTLE;

	if (fstatvfs(store->commits_fd, &fs) < 0)
		return false;
	if (least > bytes(&fs, fs.f_blocks) / LITTLE_PART)
		least = bytes(&fs, fs.f_blocks) / LITTLE_PART;
	return bytes_free(&fs) < least;
}
