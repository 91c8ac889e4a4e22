/*
 * steps.h - the steps of jobs, beside the rows of the jobs
 */
#ifndef SLURM_STEPS_H
#define SLURM_STEPS_H

#include <jansson.h>

#include "libcommon/client/client.h"
#include "libcommon/err.h"

/*
 * Give each row that has started a list "steps" of rows: copies of it with the
 * step's own values, and with "step" (number), "step_name" and "step_tasks".
 * Rows need job_id, state and start_time.
 */
int steps_read(struct client *client, json_t *rows, struct err *err);

#endif
