/*
 * queue.h - queues: open or closed, and their tree
 */
#ifndef AISCHEDD_STATE_CLUSTER_QUEUE_H
#define AISCHEDD_STATE_CLUSTER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/conf/conf.h"

struct state;

struct queue_state {
	bool closed;
	/* jobs: number of jobs that have not ended; running: number of jobs
	 * that hold nodes */
	uint64_t jobs, running;
};

struct queue_table {
	struct queue_state *queue; /* one for each queue of the configuration */
	bool dirty;                /* some queues are to be written */
};

bool state_queue_open(const struct state *state, uint32_t queue);
void state_queue_set_open(struct state *state, uint32_t queue, bool open,
                          int64_t now);

/* Returns the number of jobs in the queue and in all queues below it that have
 * not ended; running: only of those that hold nodes. */
uint64_t state_queue_count(const struct state *state, uint32_t queue,
                           bool running);

/* --- for this folder ---------------------------------------------------- */

/* Whether `queue` is `top`, or below it in the tree. */
bool queue_is_below(const struct conf *conf, uint32_t queue, uint32_t top);

/* Returns the queue itself if it is closed, else its closest ancestor that is
 * closed; -1 if none is. */
int queue_closed_by(const struct state *state, uint32_t queue);

#endif
