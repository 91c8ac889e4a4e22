/*
 * json_past.h - jobs and their steps as sacct --json prints them
 */
#ifndef SLURM_JSON_JSON_PAST_H
#define SLURM_JSON_JSON_PAST_H

#include <jansson.h>

/* Returns a job as an object. The row has "steps", as steps_read() adds them,
 * and "cluster". */
json_t *json_past(const json_t *row);

#endif
