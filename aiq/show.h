/*
 * show.h - show jobs as text: lines of one job, and sums of arrays
 */
#ifndef AIQ_SHOW_H
#define AIQ_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aiq/aiq.h"

/* Values of a row; NULL or false if null or absent. */
const char *show_text_of(const json_t *job, const char *key);
bool show_int_of(const json_t *job, const char *key, int64_t *ret);

/* Returns the memory, in MiB, that a job has on the node with the most of its
 * tasks; 0: not known. */
double show_memory_of(const json_t *job);

/* Print "  label          text". */
void show_line(const char *label, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Print a line with a text of the row, if it has one. */
void show_text(const json_t *job, const char *label, const char *key);

/* Print a group of lines, or all of them. */
void show_why(const json_t *job);
void show_owner(const json_t *job);
void show_request(const json_t *job);
void show_files(const json_t *job);
void show_job(const json_t *job);

#endif
