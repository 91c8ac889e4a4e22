/*
 * follow.h - what a job prints, while it prints it
 */
#ifndef LIBCOMMON_FOLLOW_H
#define LIBCOMMON_FOLLOW_H

#include <stdbool.h>

#include "libcommon/err.h"

/*
 * Copy the output of a job ("12", "12_3") to stdout; task: of this rank, -1
 * where it makes no difference.  With follow, wait for its start and go on
 * until it has ended, also while the daemon restarts.  address is
 * client_open()'s.
 * What the daemon has of it, it sends; else it says which file it is.
 * Fails: EAGAIN it has not started (without follow), ENODATA its output is
 * kept nowhere (/dev/null, a pipe) or it ended without any; ENOENT and others
 * of open(), and what the daemon refuses.
 */
int follow_job(const char *address, const char *job, long task, bool follow,
               struct err *err);

#endif
