/*
 * json_past.h - jobs and their steps as sacct --json tells them
 */
#ifndef SLURM_JSON_JSON_PAST_H
#define SLURM_JSON_JSON_PAST_H

#include <jansson.h>

/* Make it of a row that has "steps", as steps_read() leaves it, and the
 * cluster. */
json_t *json_past(const json_t *row);

#endif
