/* tree.c - remove a folder with all that is in it */
#include "aischedd/run/shepherd/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each level holds a file open; deeper than this nobody means it. */
#define MAX_DEPTH 256

static void remove_level(int dirfd, const char *name, int depth);

static int open_level(int dirfd, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dirfd, name, flags);

	/* Its owner may have taken the rights away.  Root needs none, and
	 * must not change the mode of what a link may point at by now. */
	if (fd < 0 && errno == EACCES && geteuid() != 0 &&
	    fchmodat(dirfd, name, 0700, 0) == 0)
		fd = openat(dirfd, name, flags);
	return fd;
}

static void empty(int fd, int depth)
{
	DIR *dir = fdopendir(fd);

	if (!dir) {
		close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			remove_level(fd, e->d_name, depth + 1);
	closedir(dir);
}

static void remove_level(int dirfd, const char *name, int depth)
{
	int fd;

	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return;
	if (errno == ENOTDIR) {
		unlinkat(dirfd, name, 0);
		return;
	}
	if (depth > MAX_DEPTH)
		return;
	fd = open_level(dirfd, name);
	if (fd < 0)
		return;
	empty(fd, depth);
	unlinkat(dirfd, name, AT_REMOVEDIR);
}

void tree_remove(int dirfd, const char *name)
{
	remove_level(dirfd, name, 0);
}
