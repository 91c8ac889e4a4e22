/*
 * purge.h - remove ended jobs from the history, with their output
 */
#ifndef AISCHEDD_PURGE_H
#define AISCHEDD_PURGE_H

#include "aischedd/daemon.h"

enum { PURGE_SLICE = 1000 }; /* jobs at a time */

/*
<<<<<<< HEAD
 * Remove up to PURGE_SLICE jobs that ended before then; *ret_gone: how many.
 * expect: how many such jobs there must be, or -1 for any number. Fails with
 * EAGAIN if there is another number of them.
=======
 * Remove some of the jobs that ended before then; *ret_gone: how many. expect:
 * how many the caller has archived, or -1. Notes when they were archived; fails
 * with EAGAIN if by now another number of jobs has ended.
>>>>>>> 7c0b6c3 (metrics: tell the size of kept output, and of archives when)
 */
int purge_slice(struct daemon *d, int64_t before, int64_t expect,
                size_t *ret_gone, struct err *err);

#endif
