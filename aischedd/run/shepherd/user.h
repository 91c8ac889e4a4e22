/*
 * user.h - become the job's user; the job's files
 *
 * As root the shepherd opens files and looks at folders with the rights of the
 * job's user; it keeps its real uid, so that the user cannot signal it.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_USER_H
#define AISCHEDD_RUN_SHEPHERD_USER_H

#include "aischedd/run/shepherd/shepherd.h"

/* Find groups and home of the user. Fails if it cannot become that user. */
int user_find(struct shepherd *s, enum start_fault *ret_fault, struct err *err);
int user_enter(struct shepherd *s, struct err *err);
void user_leave(struct shepherd *s);
mode_t user_umask(const struct shepherd *s);
/* Become the user for good, in the process that becomes a task. */
int user_become(const struct shepherd *s, struct err *err);

/* Make script and temporary folder in dir; then, as the user, open the outputs
 * of the tasks and check all that must exist before the job starts. */
int files_make(struct shepherd *s, enum start_fault *ret_fault,
               struct err *err);
int files_open(struct shepherd *s, enum start_fault *ret_fault,
               struct err *err);
/* Open those of one task that starts later or again. */
int files_open_task(struct shepherd *s, uint32_t i, enum start_fault *ret_fault,
                    struct err *err);

/* Called in the process that becomes a task, as the user: never in the
 * shepherd. */
int files_open_input(const struct shepherd *s, uint32_t rank,
                     enum start_fault *ret_fault, struct err *err);

/* Returns "/dir/script", in the arena. */
const char *files_script(struct shepherd *s);

#endif
