/*
 * purge.h - remove ended jobs from the history, with their output
 */
#ifndef AISCHEDD_PURGE_H
#define AISCHEDD_PURGE_H

#include "aischedd/daemon.h"

/* jobs removed at a time */
enum { PURGE_SLICE = 1000 };

/*
 * Remove up to PURGE_SLICE of the jobs that ended before `before`, with their
 * output; *ret_gone is how many were removed. expect: -1, or how many such jobs
 * the caller has archived. If a number is given, fails with EAGAIN if the
 * history has more or fewer such jobs, and otherwise stores the present time as
 * the time of the archive.
 */
int purge_slice(struct daemon *d, int64_t before, int64_t expect,
                size_t *ret_gone, struct err *err);

#endif
