/*
 * promise_start.h - the earliest start of a job, and room kept for it
 *
 * promise_start.c finds the time, promise_keep.c the nodes; promise.c says for
 * whom.
 */
#ifndef AISCHEDD_SCHED_PROMISE_START_H
#define AISCHEDD_SCHED_PROMISE_START_H

#include "aischedd/sched/future.h"

/* A list of any type that is filled again and again. */
struct promise_scratch {
	void *p;
	size_t cap;
};

/* What searches share. */
struct promise_seeker {
	struct place *p;
	const struct snap *s;
	struct future *future;
	int64_t capacity[RES_N]; /* of all nodes that are not down */
	uint8_t *usable;         /* by class: of the pool in which it looks */
	struct promise_scratch step, best, with, room;
	struct arena_list made, made_node; /* promises: promise_made() */
};

/* The search for a job's earliest start. */
struct promise_seek {
	struct promise_seeker *sr;
	struct future_ask ask;
	int64_t tasks, length; /* SNAP_NEVER: it never ends */
	uint32_t nodes;        /* exactly, or 0 */
	int64_t bound;         /* it starts no later than this */
	struct future_nodes_order
	    *soon;           /* nodes by when they could have room */
	int64_t room;        /* tasks for which there is room then */
	size_t next_tighten; /* with so many steps */
	struct promise_step *step;
	size_t nsteps;
	struct promise_step
	    *best; /* those up to the bound where it starts then */
	size_t nbest;
	const struct snap_promise *last; /* of the last plan, or NULL */
	int64_t *with; /* nodes, by tasks for which they have room */
};

/* A change of the number of tasks for which a node has room. */
struct promise_step {
	int64_t at;
	uint32_t node;
	int32_t was, is;
};

/* Room on one node. */
struct promise_room {
	uint32_t node;
	int64_t n;
};

/* Room for n elements, the first `keep` of which stay. */
void *promise_start_reserve(struct promise_seeker *sr,
                            struct promise_scratch *it, size_t n, size_t keep,
                            size_t size);

#define RESERVE(sr, it, type, n) \
	((type *)promise_start_reserve((sr), &(sr)->it, (n), 0, sizeof(type)))

struct promise_seeker *promise_start_new(struct place *place,
                                         struct future *future);

/* When a job that is placed now has left its nodes: one without time limit
 * leaves at the end of the reservation that it names. */
int64_t promise_start_ends_by(const struct snap *s, uint32_t req,
                              int64_t until);

/* When the job has ended if it starts at that time. */
int64_t promise_start_end_at(const struct promise_seek *sk, int64_t at);

/* Search all nodes: the best steps end at the time at which the job can start;
 * there are none if it never can. */
void promise_start_search(struct promise_seek *sk);

#endif
