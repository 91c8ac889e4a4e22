/* durable.c - files whose names survive a crash of the machine */
#include "libcommon/durable.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/mem.h"

static int sync_and_close(int fd, const char *path, struct err *err)
{
	int rc = fd < 0 || fsync(fd) < 0
	             ? err_sys(err, "cannot write '%s' to disk", path)
	             : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

/* Sync the folder of the file, which has its name, and the folders above it
 * that may be new. */
static int sync_folders(const char *path, unsigned nfolders, struct err *err)
{
	char *folder = xstrdup(path), *slash;
	int rc = 0;

	for (unsigned i = 0; i <= nfolders && rc == 0; i++) {
		slash = strrchr(folder, '/');
		if (!slash || slash == folder)
			break;
		*slash = '\0';
		rc = sync_and_close(
		    open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder,
		    err);
	}
	free(folder);
	return rc;
}

int durable_touch(const char *path, unsigned nfolders, struct err *err)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return err_sys(err, "cannot make '%s'", path);
	if (sync_and_close(fd, path, err) < 0)
		return -1;
	return sync_folders(path, nfolders, err);
}

static bool has_content(const char *path, const char *text, size_t len)
{
	char *is = xmalloc(len + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, is, len + 1);
	bool same = n >= 0 && (size_t)n == len && !memcmp(is, text, len);

	if (fd >= 0)
		close(fd);
	free(is);
	return same;
}

static int replace(const char *path, const char *text, size_t len,
                   unsigned nfolders, struct err *err)
{
	char *part = xasprintf("%s~", path);
	int fd = open(part, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	ssize_t n = fd < 0 ? -1 : write(fd, text, len);
	int rc;

	if (n >= 0 && (size_t)n < len)
		errno = ENOSPC;
	if (n < 0 || (size_t)n < len) {
		rc = err_sys(err, "cannot write '%s'", part);
		if (fd >= 0)
			close(fd);
	} else {
		rc = sync_and_close(fd, part, err);
	}
	if (rc == 0 && rename(part, path) < 0)
		rc = err_sys(err, "cannot rename '%s'", part);
	if (rc == 0)
		rc = sync_folders(path, nfolders, err);
	else
		(void)unlink(part);
	free(part);
	return rc;
}

int durable_write(const char *path, const char *text, size_t len,
                  unsigned nfolders, struct err *err)
{
	return has_content(path, text, len)
	           ? 0
	           : replace(path, text, len, nfolders, err);
}
