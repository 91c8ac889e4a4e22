/* dead_mount.h - mount a file system on which every call hangs, as if its
 * server were down */
#ifndef TESTS_UNIT_DEAD_MOUNT_H
#define TESTS_UNIT_DEAD_MOUNT_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Move this process to a mount namespace of its own. Returns false if it lacks
 * the privilege for that. */
static inline bool dead_mount_may(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/*
 * Make the folder path and mount a FUSE file system there on which no call is
 * answered while the returned descriptor is open. Returns -1 if that is not
 * possible.
 */
static inline int dead_mount(const char *path)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	snprintf(options, sizeof(options),
	         "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (fd >= 0 && mkdir(path, 0777) == 0) {
		if (mount("dead", path, "fuse", 0, options) == 0)
			return fd;
		rmdir(path);
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

#endif
