/*
 * json_past.h - jobs and their steps as sacct --json prints them
 */
#ifndef SLURM_JSON_JSON_PAST_H
#define SLURM_JSON_JSON_PAST_H

#include <jansson.h>

/* Make an object from a row with "steps", as steps_read() leaves it, and the
 * cluster's name. */
json_t *json_past(const json_t *row);

#endif
