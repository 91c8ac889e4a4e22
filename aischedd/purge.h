/*
 * purge.h - remove ended jobs from the history, with their output
 */
#ifndef AISCHEDD_PURGE_H
#define AISCHEDD_PURGE_H

#include "aischedd/daemon.h"

/* jobs removed at a time */
enum { PURGE_SLICE = 1000 };

/*
 * Remove up to PURGE_SLICE of the jobs that ended before then, with their
 * output; *ret_gone is how many were removed. expect: how many such jobs the
 * caller has archived, or -1. If it is not -1, fails with EAGAIN unless there
 * are exactly as many, and stores that they were archived now.
 */
int purge_slice(struct daemon *d, int64_t before, int64_t expect,
                size_t *ret_gone, struct err *err);

#endif
