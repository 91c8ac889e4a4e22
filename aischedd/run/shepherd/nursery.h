/*
 * nursery.h - fork shepherds
 *
 * Loading a program takes longer than many jobs, and forking the daemon may
 * copy the page tables of a gigabyte. So the daemon keeps one small process
 * that is already loaded, and that forks a shepherd for each start. It ends
 * with the daemon; its shepherds live on.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_NURSERY_H
#define AISCHEDD_RUN_SHEPHERD_NURSERY_H

#include <limits.h>
#include <stdbool.h>

#include "aischedd/run/shepherd/cgroup.h"

/* Given in place of a cgroup: the nursery runs in a scope that a user manager
 * delegates, and divides that itself. It first reports which controllers the
 * scope has: the v2 of cgroup_ways. */
#define NURSERY_SCOPE "scope"

/* The start of a new shepherd. */
struct birth {
	char dir[PATH_MAX]; /* state_dir/run/JOB.ATTEMPT */
	int conn, order_fd, lock_fd;
	bool in_scope; /* use these ways, not those in the order */
	struct cgroup_ways ways;
};

/*
 * Serve requests from standard input, a socket: each is the directory as text,
 * with two descriptors, the connection to the daemon and the order. where: the
 * cgroup for the shepherds, "" or NURSERY_SCOPE; lock_fd: the daemon's lock,
 * which all inherit. Returns in each new shepherd; ends the process once the
 * daemon is gone.
 */
void nursery_serve(const char *where, int lock_fd, struct birth *ret);

#endif
