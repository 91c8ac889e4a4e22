/* space.c - reserve disk space, so that jobs can be ended on a full disk */
#include "aischedd/store/space.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "aischedd/store/checkpoint.h"
#include "aischedd/store/own.h"
#include "libcommon/mem.h"

enum {
	/* bytes allocated to the -wal file: twice its length at a checkpoint */
	RESERVE = 8 << 20,
	RESERVE_PART = 4, /* reserve at most 1/4 of the free space */
	CHUNK = 1 << 20,  /* bytes by which the database grows */
	CHUNK_PART = 32,  /* a chunk is at most 1/32 of the disk */
	LITTLE = 1 << 20, /* a disk with less free space is nearly full */
	LITTLE_PART = 32  /* or, if that is less, 1/32 of the disk */
};

static int64_t bytes(const struct statvfs *fs, fsblkcnt_t blocks)
{
	return (int64_t)blocks * (int64_t)fs->f_frsize;
}

/* Returns how many bytes this process may still allocate: root may use all free
 * bytes, other users all but those reserved for root. */
static int64_t bytes_free(const struct statvfs *fs)
{
	return bytes(fs, geteuid() == 0 ? fs->f_bfree : fs->f_bavail);
}

/* From now on SQLite keeps the size of the database file a multiple of
 * the chunk. */
void space_in_chunks(sqlite3 *sql, const char *path)
{
	struct statvfs fs;
	int chunk = CHUNK;

	if (statvfs(path, &fs) < 0)
		return;
	if (chunk > bytes(&fs, fs.f_blocks) / CHUNK_PART)
		chunk = (int)(bytes(&fs, fs.f_blocks) / CHUNK_PART);
	sqlite3_file_control(sql, "main", SQLITE_FCNTL_CHUNK_SIZE, &chunk);
}

/* Have the database file grow by a chunk now, which has space for the few pages
 * that the next checkpoints add. */
static void reserve_pages(const struct store *store)
{
	struct stat st;
	sqlite3_int64 size;

	if (stat(store->path, &st) < 0)
		return;
	size = st.st_size + 1;
	sqlite3_file_control(store->db.sql, "main", SQLITE_FCNTL_SIZE_HINT,
	                     &size);
}

static void reserve_log(const struct store *store)
{
	char *path = xasprintf("%s-wal", store->path);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int64_t size = RESERVE;
	struct statvfs fs;

	/* Closing this descriptor releases no locks: SQLite holds none on the
	 * -wal file. */
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

void space_reserve(const struct store *store)
{
	reserve_pages(store);
	reserve_log(store);
}

void space_reuse(const struct store *store)
{
	checkpoints_now(store->checkpoints);
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
