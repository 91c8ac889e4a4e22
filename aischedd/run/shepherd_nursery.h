/*
 * shepherd_nursery.h - where shepherds are born
 *
 * To load a program takes longer than many a job, and to fork the daemon may
 * mean to copy the page tables of a gigabyte.  So the daemon keeps one small
 * process that is loaded already and forks a shepherd for each start.  It
 * ends with the daemon; its shepherds do not notice.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_NURSERY_H
#define AISCHEDD_RUN_SHEPHERD_NURSERY_H

#include <limits.h>

/* In place of a cgroup: each shepherd in a scope of a user manager. */
#define NURSERY_SCOPES "scopes"

enum { BIRTH_CONN, BIRTH_ORDER, BIRTH_LOCK, BIRTH_NFDS };

/* What a shepherd is born with. */
struct birth {
	char dir[PATH_MAX];
	int fd[BIRTH_NFDS];
};

/*
 * Serve requests from standard input, a socket: the directory as text, with
 * two descriptors.  where is the cgroup for the shepherds, "" or
 * NURSERY_SCOPES; lock_fd is the daemon's lock, which all inherit.
 * Returns in each new shepherd; ends the process when the daemon is gone.
 */
void nursery_serve(const char *self, const char *where, int lock_fd,
                   struct birth *ret);

#endif
