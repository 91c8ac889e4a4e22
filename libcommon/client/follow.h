/*
 * follow.h - copy a job's output, also while it is written
 */
#ifndef LIBCOMMON_CLIENT_FOLLOW_H
#define LIBCOMMON_CLIENT_FOLLOW_H

#include <stdbool.h>

#include "libcommon/err.h"

/*
 * Copy the output of a job ("12", "12_3") to stdout; task: of this rank, -1 if
 * there is only one. With follow, wait for its start and go on until it has
 * ended, also while the daemon restarts. address: as for client_open(). The
 * daemon sends output that it keeps itself, and otherwise names the file. Fails
 * with EAGAIN if the job has not started (without follow), ENODATA if its
 * output is not kept (/dev/null, a pipe) or it ended without any, an errno of
 * open(), or the daemon's refusal.
 */
int follow_job(const char *address, const char *job, long task, bool follow,
               struct err *err);

#endif
