/*
 * show.h - print the details of a job, as lines of a label and a text
 */
#ifndef AIQ_SHOW_H
#define AIQ_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aiq/aiq.h"

/* Get a value of a row; returns NULL or false if it is null or absent, and for
 * texts also if it is empty. */
const char *show_text_of(const json_t *job, const char *key);
bool show_int_of(const json_t *job, const char *key, int64_t *ret);

/* Returns the memory, in MiB, that the job has on the node with the most of its
 * tasks; 0: not known. */
double show_memory_of(const json_t *job);

/* Print "  label          text". */
void show_line(const char *label, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Print lines about one aspect of a job. */
void show_why(const json_t *job);
void show_owner(const json_t *job);
void show_request(const json_t *job);
void show_files(const json_t *job);
/* Print all about a job; requests its attempts from the daemon. */
int show_job(struct client *client, const json_t *job, struct err *err);

#endif
