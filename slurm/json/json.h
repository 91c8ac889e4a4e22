/*
 * json.h - what --json of squeue, sacct and sinfo share
 *
 * One shape, that of Slurm 24.05 (v0.0.41), which does not change: names and
 * kinds that are printed stay, more may come.
 */
#ifndef SLURM_JSON_JSON_H
#define SLURM_JSON_JSON_H

#include <jansson.h>
#include <stdint.h>

/* {"set": true, "infinite": false, "number": n}; ROW_NONE: not set. */
json_t *json_number(int64_t n);
/* The same, but that ROW_NONE is infinite. */
json_t *json_limit(int64_t n);
/* {"status": [...], "return_code": ..., "signal": ...} of a row of jobs. */
json_t *json_exit(const json_t *row);
/* Text of a row; "" if there is none. */
json_t *json_text(const json_t *row, const char *key);
/* Words between commas. */
json_t *json_words(const char *text);

/* Print {name: list, "meta": ..., "errors": [], "warnings": []}. Takes list. */
void json_print(const char *name, json_t *list, const char *cluster);

#endif
