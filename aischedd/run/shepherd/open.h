/*
 * open.h - open the job's outputs and input as its user
 *
 * These files may be on a file server that is down or on a FUSE file system of
 * the user's, where open() never returns. So the shepherd opens none of them
 * itself: a child that has become the user opens them and passes the
 * descriptors on, and is killed if that takes too long.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_OPEN_H
#define AISCHEDD_RUN_SHEPHERD_OPEN_H

#include "aischedd/run/shepherd/shepherd.h"

/*
 * Open the outputs of all tasks, and check as the user that folder, interpreter
 * and script can be used. Fails with the error of the user's process, or with
 * ETIMEDOUT.
 */
int open_outputs(struct shepherd *s, enum start_fault *ret_fault,
                 struct err *err);
/* Like open_outputs(), for one task that starts later or again. */
int open_outputs_of_task(struct shepherd *s, uint32_t i,
                         enum start_fault *ret_fault, struct err *err);

/* Open the job's input. Call it in the process that becomes a task, as the
 * user; never in the shepherd. */
int open_input(const struct shepherd *s, uint32_t rank,
               enum start_fault *ret_fault, struct err *err);

/* Open a file that a step names; call it where open_input() is called. Makes
 * the folders above a file that is to be written. Fails as open() does, and
 * with EACCES for files below /proc. */
int open_for_user(char *path, int flags);

#endif
