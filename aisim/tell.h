/*
 * tell.h - write events, one JSON object a line
 *
 * The events follow from the state alone: what a job held according to its last
 * event is compared with what it holds now.
 */
#ifndef AISIM_TELL_H
#define AISIM_TELL_H

#include <stdint.h>
#include <stdio.h>

#include "libcommon/buf.h"

struct job;
struct sim;

/* The tasks on one node, while two placements are compared. */
struct tell_node {
	uint32_t before, after; /* tasks */
};

struct tell {
	FILE *out; /* NULL: not wanted */
	struct buf line;
	struct tell_node *node; /* by node; all zero between events */
	uint32_t *touched;      /* nodes with entries that are not zero */
	uint32_t ntouched;
};

void tell_init(struct tell *tell, size_t nnodes, FILE *out);
void tell_fini(struct tell *tell);

void tell_submit(struct sim *sim, const struct job *job);
void tell_start_failed(struct sim *sim, const struct job *job);

/* Write all changes of the job since the last call, and count it. */
void tell_job(struct sim *sim, const struct job *job);

/* Note a job that runs from the beginning; no event is written. */
void tell_nothing_of(struct sim *sim, const struct job *job);

/* Write why each job that has not started waits; called at the end. */
void tell_waits(struct sim *sim);

#endif
