/*
 * tell.h - write the event log, one JSON object a line
 *
 * Events are found by comparison: what a job held according to its last event
 * is compared with what it holds now in the state.
 */
#ifndef AISIM_TELL_H
#define AISIM_TELL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "libcommon/buf.h"

struct job;
struct sim;

/* Number of tasks of a job on a node, in the two placements being compared. */
struct tell_node {
	uint32_t before, after; /* tasks */
};

struct tell {
	FILE *out; /* NULL: write no events */
	struct buf line;
	struct tell_node *node; /* [nnodes]; all zero between events */
	uint32_t *touched;      /* nodes whose entries are not zero */
	uint32_t ntouched;
};

void tell_init(struct tell *tell, size_t nnodes, FILE *out);
void tell_fini(struct tell *tell);

void tell_submit(struct sim *sim, const struct job *job);
/* Write that a run of a cron entry is skipped: because an earlier one had not
 * ended (overlap), or because too many had not. */
void tell_skip(struct sim *sim, uint64_t job, bool overlap);
void tell_start_failed(struct sim *sim, const struct job *job);

/* Write the events for all changes of the job since the last call, and update
 * the statistics. */
void tell_job(struct sim *sim, const struct job *job);

/* Note the placement of a job that is running at second 0, without an event. */
void tell_nothing_of(struct sim *sim, const struct job *job);

/* Write that a node of a template was asked for, was added or was removed. */
void tell_node(struct sim *sim, const char *event, uint32_t node);

/* Write an event for each job that has not started, with the reason; called at
 * the end. */
void tell_waits(struct sim *sim);

#endif
