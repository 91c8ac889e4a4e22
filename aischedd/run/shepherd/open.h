/*
 * open.h - open the job's outputs and input as its user
 *
 * These files may be on a file server that is down, or on a FUSE file system of
 * the user where open() never returns. So the shepherd opens none of them
 * itself: a child process that has become the user opens them and sends the
 * descriptors. The child is killed if that takes too long.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_OPEN_H
#define AISCHEDD_RUN_SHEPHERD_OPEN_H

#include "aischedd/run/shepherd/shepherd.h"

/*
 * Open the outputs of all tasks, and check as the user that working directory,
 * interpreter and script can be used. Fails with the error of the child
 * process, or with ETIMEDOUT.
 */
int open_outputs(struct shepherd *s, enum start_fault *ret_fault,
                 struct err *err);
/* As open_outputs(), for one task that starts later or again. */
int open_outputs_of_task(struct shepherd *s, uint32_t i,
                         enum start_fault *ret_fault, struct err *err);

/* Open the job's input. Call this as the user, in the process that becomes a
 * task; never in the shepherd. */
int open_input(const struct shepherd *s, uint32_t rank,
               enum start_fault *ret_fault, struct err *err);

/* Open a file that a step names, in the same kind of process as open_input().
 * Makes the folders above a file that is to be written. Fails as open() does,
 * and with EACCES for files in /proc. */
int open_for_user(char *path, int flags);

#endif
