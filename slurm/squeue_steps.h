/*
 * squeue_steps.h - the listing of squeue -s: running steps instead of jobs
 */
#ifndef SLURM_SQUEUE_STEPS_H
#define SLURM_SQUEUE_STEPS_H

#include <jansson.h>

#include "slurm/format.h"

/* the keys that the rows of jobs need, separated by blanks */
extern const char squeue_step_needs[];

/* The columns of steps, with the bit OF_SQUEUE. The table ends with a field
 * without a header. */
extern const struct slurm_field squeue_step_fields[];

/*
 * Returns a row for each running step of the jobs, and for each running script,
 * which is the step "batch". wanted: ids like "12.0", "12.batch" or "12"; if it
 * is empty, all steps are returned. The rows of jobs must have been through
 * steps_read().
 */
json_t *squeue_steps(json_t *jobs, const json_t *wanted);

#endif
