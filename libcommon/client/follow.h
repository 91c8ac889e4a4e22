/*
 * follow.h - copy a job's output, even while it is being written
 */
#ifndef LIBCOMMON_CLIENT_FOLLOW_H
#define LIBCOMMON_CLIENT_FOLLOW_H

#include <stdbool.h>

#include "libcommon/err.h"

/*
 * Copy the output of a job ("12", "12_3") to stdout. task is the rank, or -1 if
 * the job has only one output. With follow, wait until the job has started, and
 * continue until it has ended, even if the daemon restarts. address is that for
 * client_open(). The daemon sends the output if it has it, and otherwise the
 * name of the file, which is then read here. Fails with EAGAIN if the job has
 * not started (without follow), ENODATA if its output is not kept (/dev/null, a
 * pipe) or it ended without any, an errno of open(), or the daemon's refusal.
 */
int follow_job(const char *address, const char *job, long task, bool follow,
               struct err *err);

#endif
