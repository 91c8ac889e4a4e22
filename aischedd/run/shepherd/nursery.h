/*
 * nursery.h - fork shepherds
 *
 * To load a program for each start would take longer than many jobs run. To
 * fork the daemon would be slow, too, if it uses much memory. So the daemon
 * keeps one small process, the nursery, that is already loaded and forks a
 * shepherd for each start. The nursery ends with the daemon; shepherds do not.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_NURSERY_H
#define AISCHEDD_RUN_SHEPHERD_NURSERY_H

#include <limits.h>
#include <stdbool.h>

#include "aischedd/run/shepherd/cgroup.h"

/*
 * Value of `where` in nursery_serve(), in place of a cgroup: the nursery runs
 * in a scope that a user manager of systemd delegated, and makes the cgroups of
 * attempts in this scope. First of all, the nursery tells the daemon which
 * controllers the scope has (v2 of struct cgroup_ways).
 */
#define NURSERY_SCOPE "scope"

/* The data that a new shepherd gets from the nursery. */
struct birth {
	char dir[PATH_MAX]; /* state_dir/run/JOB.ATTEMPT */
	int conn, order_fd, lock_fd;
	/* use `ways` below instead of those in the order */
	bool in_scope;
	struct cgroup_ways ways;
};

/*
 * Fork a shepherd for each request that arrives on standard input, a socket. A
 * request is the attempt's directory as text, with two descriptors: the
 * connection to the daemon, and the order. where: the cgroup for shepherds, ""
 * or NURSERY_SCOPE. lock_fd: the daemon's lock, which shepherds inherit.
 * Returns only in each new shepherd; the nursery itself exits when the daemon
 * has ended.
 */
void nursery_serve(const char *where, int lock_fd, struct birth *ret);

#endif
