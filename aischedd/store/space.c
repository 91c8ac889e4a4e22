/* space.c - a full disk must not keep jobs from being ended */
#include "aischedd/store/space.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "aischedd/store/own.h"
#include "libcommon/mem.h"

enum {
	RESERVE = 8 << 20, /* twice what the log is long at a checkpoint */
	RESERVE_PART = 8,  /* at most such a part of what is free */
	LITTLE = 1 << 20,  /* less is a full disk */
	LITTLE_PART = 32   /* or such a part of a small one */
};

static int64_t bytes(const struct statvfs *fs, fsblkcnt_t blocks)
{
	return (int64_t)blocks * (int64_t)fs->f_frsize;
}

/* What this process may still take. */
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

	/* SQLite has no locks on this file that closing could drop. */
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
