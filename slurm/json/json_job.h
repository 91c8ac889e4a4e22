/*
 * json_job.h - jobs as squeue --json prints them
 */
#ifndef SLURM_JSON_JSON_JOB_H
#define SLURM_JSON_JSON_JOB_H

#include <jansson.h>

/* The keys that a row for json_job() must have, separated by blanks. */
extern const char json_job_needs[];

json_t *json_job(const json_t *row, const char *cluster);

#endif
