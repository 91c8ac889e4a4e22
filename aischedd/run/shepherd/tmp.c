/* tmp.c - the temporary folder of an attempt */
#include "aischedd/run/shepherd/tmp.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/run/quota.h"
#include "aischedd/run/shepherd/tree.h"
#include "libcommon/clock.h"

#define LINK "tmp"

/* pause between two rounds: CLOSE_MS if the last round found more than half of
 * what the job may store, else ROUND_MS */
#define ROUND_MS 1000
#define CLOSE_MS 200
/* A pause lasts at least this many times as long as the reading before it, so
 * that reading takes at most 1/20 of a CPU. */
#define SHARE 20
/* most files that are looked at before the shepherd does something else */
#define FILES_AT_ONCE 500

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

/* Take the folder's quota back before the folder is removed: if we are killed
 * in between, the folder still shows which one it is. */
static void unlimit(int parent, const char *name)
{
	int fd = tree_open_beneath(
	    parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	quota_close(fd);
	close(fd);
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
		unlimit(parent, slash + 1);
		more = tree_remove(parent, slash + 1, most);
		close(parent);
	}
	if (!more)
		unlinkat(dirfd, LINK, 0);
	return more;
}

/* --- how much is stored in the folder -------------------------------- */

static void push(struct tmp_watch *w, int fd)
{
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (dir)
		w->dir[w->depth++] = dir;
	else if (fd >= 0)
		close(fd);
}

/* Begin a round with the temporary folder itself. */
static void begin(struct tmp_watch *w, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statx st;

	w->blocks = 0;
	if (fd < 0)
		return;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BLOCKS, &st) < 0) {
		close(fd);
		return;
	}
	w->major = st.stx_dev_major;
	w->minor = st.stx_dev_minor;
	w->blocks = (int64_t)st.stx_blocks;
	push(w, fd);
}

static void look(struct tmp_watch *w, int dirfd, const char *name)
{
	struct statx st;

	if (statx(dirfd, name,
	          AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
	          STATX_TYPE | STATX_BLOCKS | STATX_NLINK, &st) < 0 ||
	    st.stx_dev_major != w->major || st.stx_dev_minor != w->minor)
		return;
	if (!S_ISDIR(st.stx_mode)) {
		w->blocks +=
		    (int64_t)st.stx_blocks / (st.stx_nlink ? st.stx_nlink : 1);
		return;
	}
	w->blocks += (int64_t)st.stx_blocks;
	if (w->depth < TMP_WATCH_DEPTH)
		push(w, tree_open_beneath(dirfd, name,
		                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		                              O_CLOEXEC));
}

static void read_some(struct tmp_watch *w)
{
	for (int n = 0; w->depth && n < FILES_AT_ONCE; n++) {
		DIR *dir = w->dir[w->depth - 1];
		const struct dirent *e = readdir(dir);

		if (!e) {
			closedir(dir);
			w->depth--;
		} else if (strcmp(e->d_name, ".") != 0 &&
		           strcmp(e->d_name, "..") != 0) {
			look(w, dirfd(dir), e->d_name);
		}
	}
}

bool tmp_watch_step(struct tmp_watch *w, const char *path, int64_t limit_mib,
                    int64_t now)
{
	int64_t limit = limit_mib * 2048, cost, pause = 0;

	if (w->full || now < w->at)
		return false;
	if (!w->depth)
		begin(w, path);
	read_some(w);
	w->full = w->blocks > limit;
	if (w->full)
		tmp_watch_end(w);
	else if (!w->depth)
		pause = w->blocks > limit / 2 ? CLOSE_MS : ROUND_MS;
	cost = clock_ms() - now;
	if (pause < cost * SHARE)
		pause = cost * SHARE;
	w->at = now + cost + pause;
	return w->full;
}

int64_t tmp_watch_due(const struct tmp_watch *w)
{
	if (w->full)
		return 0;
	return w->at ? w->at : 1;
}

void tmp_watch_end(struct tmp_watch *w)
{
	while (w->depth)
		closedir(w->dir[--w->depth]);
}
