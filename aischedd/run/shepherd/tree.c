/* tree.c - remove a folder and everything in it */
#include "aischedd/run/shepherd/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libcommon/clock.h"

#define NAME_TRIES 16

struct removal {
	/* the folder to be removed, to which deeper folders are moved */
	int top;
	size_t left;   /* entries that may still be removed or moved */
	bool progress; /* this round removed or moved an entry */
	uint64_t serial;
};

enum unlinked { GONE, FULL, STUCK };

typedef void entry_fn(struct removal *r, int dirfd, const char *name);

static enum unlinked remove_one(int dirfd, const char *name)
{
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return GONE;
	if (errno != EISDIR)
		return STUCK;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return GONE;
	return errno == ENOTEMPTY || errno == EEXIST ? FULL : STUCK;
}

int tree_open_beneath(int dirfd, const char *name, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags,
		                .resolve =
		                    RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS };
	long fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return openat(dirfd, name, flags);
	return (int)fd;
}

/* Set mode 0700 on a folder, in case its owner has taken away the rights. Root
 * does not need these, and must not change a mode, as the name may be a link to
 * another file by now. */
static void restore_rights(int dirfd, const char *name)
{
	if (geteuid() != 0 && fchmodat(dirfd, name, 0700, 0) < 0)
		/* if this fails, the folder cannot be entered and stays */
		return;
}

static int open_level(int dirfd, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	restore_rights(dirfd, name);
	return tree_open_beneath(dirfd, name, flags);
}

/* Call fn for each entry of the folder until r->left is 0; closes fd. */
static void each_entry(struct removal *r, int fd, entry_fn *fn)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	if (!dir)
		return;
	for (struct dirent *e; r->left && (e = readdir(dir));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			fn(r, fd, e->d_name);
	closedir(dir);
}

static void count(struct removal *r)
{
	r->progress = true;
	if (r->left)
		r->left--;
}

static bool move_up(struct removal *r, int dirfd, const char *name)
{
	char fresh[24];

	restore_rights(dirfd, name);
	for (int i = 0; i < NAME_TRIES; i++) {
		snprintf(fresh, sizeof(fresh), ".%016" PRIx64, r->serial++);
		if (renameat(dirfd, name, r->top, fresh) == 0)
			return true;
	}
	return false;
}

/* Remove an entry two levels below the top, or move it up if it is a folder
 * that is not empty. */
static void remove_below(struct removal *r, int dirfd, const char *name)
{
	enum unlinked result = remove_one(dirfd, name);

	if (result == GONE || (result == FULL && move_up(r, dirfd, name)))
		count(r);
}

/* Remove an entry of the top folder. If it is a folder, empty it first. */
static void remove_child(struct removal *r, int dirfd, const char *name)
{
	enum unlinked result = remove_one(dirfd, name);

	if (result == FULL) {
		each_entry(r, open_level(dirfd, name), remove_below);
		result = remove_one(dirfd, name);
	}
	if (result == GONE)
		count(r);
}

bool tree_remove(int dirfd, const char *name, size_t most)
{
	struct removal r = { .left = most,
		             .serial = (uint64_t)clock_wall_us() };
	enum unlinked result = remove_one(dirfd, name);

	if (result != FULL)
		return false;
	r.top = open_level(dirfd, name);
	if (r.top < 0)
		return false;
	do {
		r.progress = false;
		each_entry(&r, openat(r.top, ".", O_RDONLY | O_CLOEXEC),
		           remove_child);
	} while (r.progress && r.left);
	close(r.top);
	return remove_one(dirfd, name) == FULL && !r.left;
}
