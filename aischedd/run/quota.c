/* quota.c - a limit that the file system sets on a job's temporary folder */
#include "aischedd/run/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ids that are tried before the folder stays without a limit */
#define TRIES      32
#define MIB_BLOCKS 2048 /* blocks of 512 bytes in a MiB */

/* --- the kernel's calls ---------------------------------------------- */

/* These commands are XFS's, but the kernel takes them for ext4, too. */
static int ask(int fd, int command, uint32_t id, void *arg)
{
	return (int)syscall(SYS_quotactl_fd, fd, QCMD(command, PRJQUOTA), id,
	                    arg);
}

static bool is_in_force(int fd)
{
	struct fs_quota_statv st = { .qs_version = FS_QSTATV_VERSION1 };

	return ask(fd, Q_XGETQSTATV, 0, &st) == 0 &&
	       (st.qs_flags & FS_QUOTA_PDQ_ENFD);
}

/* Returns how many files have the id; -1 with errno if it is not known. */
static int64_t count_files(int fd, uint32_t id)
{
	struct fs_disk_quota q = { 0 };

	if (ask(fd, Q_XGETQUOTA, id, &q) == 0)
		return (int64_t)q.d_icount;
	return errno == ENOENT ? 0 : -1;
}

static int set_limit(int fd, uint32_t id, int64_t mib)
{
	struct fs_disk_quota q = {
		.d_version = FS_DQUOT_VERSION,
		.d_flags = FS_PROJ_QUOTA,
		.d_id = id,
		.d_fieldmask = FS_DQ_BHARD,
		.d_blk_hardlimit = (uint64_t)mib * MIB_BLOCKS,
	};

	return ask(fd, Q_XSETQLIM, id, &q);
}

static int set_project(int fd, uint32_t id, bool inherit)
{
	struct fsxattr x;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0)
		return -1;
	x.fsx_projid = id;
	x.fsx_xflags &= ~(uint32_t)FS_XFLAG_PROJINHERIT;
	if (inherit)
		x.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(fd, FS_IOC_FSSETXATTR, &x);
}

/* Returns the project of the folder; 0: it has none. */
static uint32_t project_of(int fd)
{
	struct fsxattr x;

	return ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0 ? 0 : x.fsx_projid;
}

/* --- which id -------------------------------------------------------- */

uint32_t quota_id(uint32_t secret, uint32_t i)
{
	return QUOTA_FIRST + (uint32_t)(((uint64_t)secret + i) % QUOTA_IDS);
}

bool quota_line_has(const char *line, uint32_t id)
{
	char text[16];
	size_t len = (size_t)snprintf(text, sizeof(text), "%u", id), n;

	for (;; line += n + 1) {
		n = strcspn(line, ":\n");
		if (n == len && !strncmp(line, text, len))
			return true;
		if (line[n] != ':')
			return false;
	}
}

/* Whether the admin has given the id to a project. */
static bool is_named(const char *path, uint32_t id)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	bool has = false;

	if (!f)
		return false;
	while (!has && getline(&line, &cap, f) > 0)
		has = quota_line_has(line, id);
	free(line);
	fclose(f);
	return has;
}

/*
 * Try to make the id the folder's own. Other shepherds, also those of other
 * daemons, may try the same: each enters the project first and then counts. If
 * several have entered, at most one, that was there before, has found itself
 * alone; the others go.
 */
static bool take(int fd, uint32_t id, int64_t mib)
{
	if (is_named("/etc/projid", id) || is_named("/etc/projects", id) ||
	    count_files(fd, id) != 0 || set_project(fd, id, true) < 0)
		return false;
	if (count_files(fd, id) == 1 && set_limit(fd, id, mib) == 0)
		return true;
	set_project(fd, 0, false);
	return false;
}

uint32_t quota_open(int fd, uint32_t secret, int64_t mib)
{
	/* If the admin has put tmp_dir into a project, its folders count
	 * there. */
	if (!is_in_force(fd) || project_of(fd))
		return 0;
	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t id = quota_id(secret, i);

		if (take(fd, id, mib))
			return id;
	}
	return 0;
}

void quota_limit(int fd, uint32_t id, int64_t mib)
{
	set_limit(fd, id, mib);
}

void quota_close(int fd)
{
	struct fsxattr x;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0)
		return;
	if (x.fsx_projid - QUOTA_FIRST < QUOTA_IDS)
		set_limit(fd, x.fsx_projid, 0);
	/* The user may have moved a subfolder into another project; the kernel
	 * refuses to rename it into a folder whose project is inherited. The
	 * folder itself keeps its id until it is removed, so that no other
	 * folder gets that. */
	if (x.fsx_xflags & FS_XFLAG_PROJINHERIT)
		set_project(fd, x.fsx_projid, false);
}

const char *quota_lack(const char *tmp_dir)
{
	int fd = open(tmp_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *lack = NULL;

	if (fd < 0 || !is_in_force(fd))
		lack = "no project quotas are in force on the file system of "
		       "tmp_dir";
	else if (count_files(fd, QUOTA_FIRST) < 0)
		lack = "the daemon may not set project quotas";
	else if (project_of(fd))
		lack = "tmp_dir has a project of its own";
	if (fd >= 0)
		close(fd);
	return lack;
}
