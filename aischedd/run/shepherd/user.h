/*
 * user.h - become the job's user; make the job's script and folder
 */
#ifndef AISCHEDD_RUN_SHEPHERD_USER_H
#define AISCHEDD_RUN_SHEPHERD_USER_H

#include "aischedd/run/shepherd/shepherd.h"

/* Find groups, home and shell of the job's user. Fails if this process cannot
 * become that user. */
int user_find(struct shepherd *s, enum start_fault *ret_fault, struct err *err);
mode_t user_umask(const struct shepherd *s);
/* Become the job's user for good. Call this in the process that becomes
 * a task. */
int user_become(const struct shepherd *s, struct err *err);

/* Make the script, in the attempt's folder, and the temporary folder. */
int files_make(struct shepherd *s, enum start_fault *ret_fault,
               struct err *err);

/* Returns the path of the script, "DIR/script", in the arena. */
const char *files_script(struct shepherd *s);

#endif
