/*
 * promise_start.h - the earliest start of a job, and room kept for it
 *
 * promise_start.c finds the time, promise_keep.c the nodes; promise.c decides
 * for which jobs.
 */
#ifndef AISCHEDD_SCHED_PROMISE_START_H
#define AISCHEDD_SCHED_PROMISE_START_H

#include "aischedd/sched/future/future.h"
#include "aischedd/sched/promise_limit.h"

/* Memory for a list of any type, reused by each search. */
struct promise_scratch {
	void *p;
	size_t cap;
};

/* Shared by all searches. */
struct promise_seeker {
	struct place *p;
	const struct snap *s;
	struct future *future;
	struct limit_future *limits;
	int64_t capacity[RES_N]; /* the resources of all nodes that are not
	                            down */
	uint8_t *usable; /* by class: 1 if its nodes are in the pool being
	                    searched */
	struct promise_scratch step, best, with, room, parts;
	struct arena_list made, made_node; /* the promises made so far, see
	                                      promise_made() */
};

/* The search for a job's earliest start. */
struct promise_seek {
	struct promise_seeker *sr;
	struct future_ask ask;
	struct demand demand;  /* what the job takes of limits and licences */
	int64_t tasks, length; /* tasks: how many to place; length: how long the
	                          job runs, or SNAP_NEVER */
	uint32_t nodes;        /* exact number of nodes; 0: any */
	int64_t from;  /* search only for a start at this time or later */
	int64_t bound; /* search only for a start at this time or earlier */
	/* nodes in the order in which they could first have room */
	struct future_nodes_order *soon;
	int64_t room; /* sum of the tasks that fit, at the bound, on the nodes
	                 looked at so far */
	size_t next_tighten; /* call tighten() again once there are this many
	                        steps */
	struct promise_step *step;
	size_t nsteps;
	struct promise_step *best; /* steps of the best start so far */
	size_t nbest;
	const struct snap_promise *last; /* the last plan's promise, or NULL */
	/* by number of tasks: how many nodes have room for exactly that many */
	int64_t *with;
	/* by domain: for how many parts of segments (snap_segment_part()) it
	 * has room */
	int64_t *parts;
	uint32_t segment; /* parts of a segment; 0: the job has no segments */
	/* how the job is spread in `pool` or, while its nodes are chosen, in
	 * best_pool; NULL: it is not spread */
	struct spread *spread;
	uint32_t pool, best_pool; /* the pool being searched; the pool of the
	                             best start */
};

/* A change of the number of tasks that fit on a node. */
struct promise_step {
	int64_t at;
	uint32_t node;
	int32_t was, is;
};

/* Room on one node. */
struct promise_room {
	uint32_t node;
	uint32_t domain; /* the node's domain of the level that segments
	                    need; for a job that is spread, the number of its
	                    domain */
	int64_t n;
	bool extra; /* the node must be asked for, for this job alone */
};

/* Return memory for n elements of this size; the first `keep` elements keep
 * their values. */
void *promise_start_reserve(struct promise_seeker *sr,
                            struct promise_scratch *it, size_t n, size_t keep,
                            size_t size);

#define RESERVE(sr, it, type, n) \
	((type *)promise_start_reserve((sr), &(sr)->it, (n), 0, sizeof(type)))

struct promise_seeker *promise_start_new(struct place *place,
                                         struct future *future);

/* Returns the end of a job that starts now: `until` or, if that is SNAP_NEVER,
 * the end of the reservation that the request names. */
int64_t promise_start_ends_by(const struct snap *s, uint32_t req,
                              int64_t until);

/* Returns when the job ends if it starts at this time. */
int64_t promise_start_end_at(const struct promise_seek *sk, int64_t at);

/* Whether all tasks fit on sk->nodes of the nodes counted in sk->with, if those
 * with the most room are used. */
bool promise_start_suffices(const struct promise_seek *sk);

/* Returns how many tasks fit on the node from `at` on, for as long as the job
 * runs; at most sk->ask.most. 0 if the job may not use the node. */
int64_t promise_start_room(struct promise_seek *sk, uint32_t node, int64_t at);

/* Search all nodes. The last of sk->best is at the time at which the job can
 * start; sk->nbest is 0 if it never can. */
void promise_start_search(struct promise_seek *sk);

#endif
