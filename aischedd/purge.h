/*
 * purge.h - remove ended jobs from the history, with their output
 */
#ifndef AISCHEDD_PURGE_H
#define AISCHEDD_PURGE_H

#include "aischedd/daemon.h"

enum { PURGE_SLICE = 1000 }; /* jobs at a time */

/*
 * Remove some of the jobs that ended before then; *ret_gone: how many. expect:
 * how many there must be, or -1; fails with EAGAIN if there are not.
 */
int purge_slice(struct daemon *d, int64_t before, int64_t expect,
                size_t *ret_gone, struct err *err);

#endif
