/*
 * steps.h - read the steps of jobs, and add them to the jobs' rows
 */
#ifndef SLURM_STEPS_H
#define SLURM_STEPS_H

#include <jansson.h>

#include "libcommon/client/client.h"
#include "libcommon/err.h"

/*
 * Add an array "steps" to the row of each job that has started. It has for each
 * step a copy of the job's row, with the step's values and "step" (its number),
 * "step_name" and "step_tasks". The rows need job_id, state and start_time.
 * Fails as client_call() does.
 */
int steps_read(struct client *client, json_t *rows, struct err *err);

#endif
