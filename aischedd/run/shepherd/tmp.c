/* tmp.c - the temporary folder of an attempt */
#include "aischedd/run/shepherd/tmp.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/run/shepherd/tree.h"

#define LINK "tmp"

/* Whether our user owns the folder. If others can write to its parent, one of
 * them may have put another folder in its place. */
static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

int tmp_make(int dirfd, const char *path, struct err *err)
{
	int fd;

	unlinkat(dirfd, LINK, 0);
	if (symlinkat(path, dirfd, LINK) < 0 || mkdir(path, 0700) < 0)
		return err_sys(err, "cannot make '%s' (tmp_dir)", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "cannot open '%s'", path);
	if (!is_ours(fd)) {
		close(fd);
		return err_set(err, EPERM,
		               "'%s' exists and belongs to somebody else",
		               path);
	}
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		/* not every file system has locks: do without */
		return fd;
	return fd;
}

bool tmp_remove(int dirfd, size_t most)
{
	char path[PATH_MAX], *slash;
	ssize_t len = readlinkat(dirfd, LINK, path, sizeof(path) - 1);
	bool more = false;
	int parent;

	if (len < 0)
		return false;
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	*slash = '\0';
	parent = open(*path ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent >= 0) {
		more = tree_remove(parent, slash + 1, most);
		close(parent);
	}
	if (!more)
		unlinkat(dirfd, LINK, 0);
	return more;
}
