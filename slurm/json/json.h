/*
 * json.h - what --json of squeue, sacct and sinfo share
 *
 * The output is that of Slurm 24.05 (data_parser v0.0.41) and stays stable:
 * names and types that are printed today remain, new ones may be added.
 */
#ifndef SLURM_JSON_JSON_H
#define SLURM_JSON_JSON_H

#include <jansson.h>
#include <stdint.h>

/* Returns {"set": true, "infinite": false, "number": n}; ROW_NONE becomes
 * "set": false. */
json_t *json_number(int64_t n);
/* As json_number(), but ROW_NONE becomes "infinite": true. */
json_t *json_limit(int64_t n);
/* Returns the exit code of a job: {"status": [...], "return_code": ...,
 * "signal": ...}. */
json_t *json_exit(const json_t *row);
/* Returns the text of a key in a row, "" if there is none. */
json_t *json_text(const json_t *row, const char *key);

/* Print {name: list, "meta": ..., "errors": [], "warnings": []}. Takes list. */
void json_print(const char *name, json_t *list, const char *cluster);

#endif
