/*
 * vars.h - the variables that are set for a job's processes
 */
#ifndef AISCHEDD_RUN_SHEPHERD_VARS_H
#define AISCHEDD_RUN_SHEPHERD_VARS_H

#include "aischedd/run/shepherd/env.h"

/* Returns how many processes the shepherd starts for the job: one for each
 * task, or one for all tasks. */
uint32_t env_nprocs(const struct run_job *job);

/* Returns all names that the table of variables can set, NULL-terminated. */
const char *const *env_names(void);

/* Call fn for each variable that is set for this process. */
typedef void env_set_fn(void *arg, const char *name, const char *value);
void env_each(const struct env_of *e, env_set_fn *fn, void *arg);

#endif
