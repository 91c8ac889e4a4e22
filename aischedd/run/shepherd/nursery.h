/*
 * nursery.h - fork shepherds
 *
 * Loading a program for each start would take longer than many jobs run, and
 * forking the daemon may copy the page tables of a gigabyte. So the daemon
 * keeps one small process, the nursery, that is already loaded and forks a
 * shepherd for each start. The nursery ends with the daemon; the shepherds
 * survive it.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_NURSERY_H
#define AISCHEDD_RUN_SHEPHERD_NURSERY_H

#include <limits.h>
#include <stdbool.h>

#include "aischedd/run/shepherd/cgroup.h"

/* Given in place of a cgroup: the nursery runs in a scope that a user manager
 * of systemd delegated, and makes the attempts' cgroups in that scope. Before
 * anything else it sends the daemon which controllers the scope has (v2 of
 * struct cgroup_ways). */
#define NURSERY_SCOPE "scope"

/* The start of a new shepherd. */
struct birth {
	char dir[PATH_MAX]; /* state_dir/run/JOB.ATTEMPT */
	int conn, order_fd, lock_fd;
	bool in_scope; /* use `ways` below, not those in the order */
	struct cgroup_ways ways;
};

/*
 * Fork a shepherd for each request from standard input, a socket. A request is
 * the attempt's directory as text, with two descriptors: the connection to the
 * daemon, and the order. where: the cgroup for the shepherds, "" or
 * NURSERY_SCOPE; lock_fd: the daemon's lock, which all shepherds inherit.
 * Returns only in each new shepherd; the nursery itself exits once the daemon
 * is gone.
 */
void nursery_serve(const char *where, int lock_fd, struct birth *ret);

#endif
