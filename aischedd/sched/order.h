/*
 * order.h - the order in which jobs of a queue are served
 *
 * Rows go by score and rank (order_score.h), then by the job id of their next
 * member, so equal rows take turns in the order of submission. A job that has
 * waited for the max_wait of its queue goes before all others. When no row of
 * the queue has a turn left, its elastic jobs grow, first the one with the
 * fewest tasks above its minimum. A run below its minimum, which has lost tasks
 * with their node, goes before all rows instead. Jobs that start in this pass
 * grow, too, so that they start with all tasks that fit. Each leaf queue has a
 * heap, because there may be a million rows, and a row may have as many
 * members.
 */
#ifndef AISCHEDD_SCHED_ORDER_H
#define AISCHEDD_SCHED_ORDER_H

#include <stdbool.h>

#include "aischedd/sched/order_score.h"
#include "aischedd/sched/work.h"

struct order_heap {
	uint32_t *at; /* rows, or jobs that may grow */
	uint32_t n, cap;
};

/* A job that starts in this pass with fewer tasks than it may have. */
struct order_elastic {
	uint32_t row, member;
	uint32_t start;  /* index in pass.start */
	uint32_t ntasks; /* tasks that it starts with */
	uint32_t extra;  /* the last task that it got later, as index in
	                    pass.extra + 1; 0: none */
	/* if the job is exclusive: how many of its first tasks are on nodes on
	 * which no more tasks fit */
	uint32_t full;
};

/* The highest score goes first, then the lowest rank. */
struct order_key {
	int64_t score, rank;
};

static inline int order_key_cmp(const struct order_key *a,
                                const struct order_key *b)
{
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

struct row_order {
	const struct snap *snap;
	struct arena *arena;
	struct order_heap *rows;    /* by queue: rows that still have a turn */
	struct order_heap *growers; /* by queue: runs that may grow and, from
	                             * snap.run.n on, items of elastic */
	struct arena_list elastic;  /* struct order_elastic */
	bool grows;                 /* there are runs that may grow */
	int64_t *base;         /* by row: its score without age, thousandths */
	int64_t *rank;         /* by row; see order_score.h */
	struct order_key *key; /* by row: the key of its next member */
	uint64_t *ready;       /* by row: how many jobs may start now */
	uint32_t *next;        /* by row: its next member */
	uint32_t *begun; /* by row: how many jobs of the member `next` start */
	uint32_t *started; /* by row: how many jobs start */
	uint32_t *claimed; /* by row: for how many jobs others are evicted */
	/* by row: waiting time after which a job without promised start holds
	 * back those behind it, or CONF_NONE */
	int64_t *hold;
	int64_t *overdue; /* by row: waiting time after which a job goes before
	                     all others, or CONF_NONE */
	uint32_t *first;  /* by row: the first member that waits but is
	                   * promised a start, or SNAP_NONE */
	/* by row: how many jobs of the member `first` start */
	uint32_t *first_begun;
	uint32_t *limited; /* by row: the first member whose array runs as many
	                      tasks as its limit allows, or SNAP_NONE */
	/* by array: how many of its tasks run, or start, have a claim or a
	 * promise in this pass. Tasks above the limit do not count. */
	uint32_t *in_array;
	uint32_t *grown; /* by run: number of tasks added in this pass */
};

/* Returns the tasks of a run, with those that it gets in this pass. */
static inline uint32_t order_tasks(const struct row_order *o, uint32_t run)
{
	return snap_run_ntasks(o->snap, run) + o->grown[run];
}

/* The next claim of a leaf queue. */
struct turn {
	uint32_t row; /* SNAP_NONE: the claim is one more task for a job */
	uint32_t run; /* SNAP_NONE: the job in `elastic`, which starts in this
	                 pass, gets the task */
	struct order_elastic *elastic;
};

/* capacity: the resources of all nodes that are not down. */
struct row_order *order_new(const struct snap *snap, const struct tally *tally,
                            const int64_t capacity[RES_N], struct arena *arena);

/* Fill the heaps with all rows and runs that have a turn. Call it after
 * claim_settle() has noted (in begun and grown) which jobs start or grow on
 * claims of earlier plans. */
void order_open(struct row_order *o);

/* Add a job that has started and may get more tasks in this pass. */
void order_add_elastic(struct row_order *o, const struct order_elastic *e);

bool order_has(const struct row_order *o, uint32_t queue);

/* Returns the next claim of a leaf. The claim stays the same until one of the
 * functions below is called. */
struct turn order_first(const struct row_order *o, uint32_t queue);
/* Set ret to the resources of the next claim, which is for a job with its
 * minimum of tasks, or for one more task. */
void order_next(const struct row_order *o, uint32_t queue, int64_t ret[RES_N]);
/* Go on to the next claim. order_started(): the job of the present claim was
 * started. order_claimed(): other jobs were evicted for it. */
void order_started(struct row_order *o, uint32_t queue);
void order_claimed(struct row_order *o, uint32_t queue);
/* Go on to the next claim; after both calls, other jobs of the row still have
 * their turn. order_promised(): the job of the present claim was promised a
 * start. order_grown(): the run of the present claim, or the job in
 * turn.elastic, was given tasks. */
void order_promised(struct row_order *o, uint32_t queue);
void order_grown(struct row_order *o, uint32_t queue, uint32_t tasks);
/* Go on to the next claim, and give the row or run of the present claim no
 * further turn, because nothing more of it can start. */
void order_drop(struct row_order *o, uint32_t queue);

/* Whether the next job of a leaf has waited so long that it may hold back
 * others. */
bool order_is_due(const struct row_order *o, uint32_t queue);

/* Compare the next claims of two leaves: < 0 if the claim of `a` goes first. */
int order_compare(const struct row_order *o, uint32_t a, uint32_t b);

/* Whether a job of the row is already known to wait. */
static inline bool order_is_waiting(const struct row_order *o, uint32_t row)
{
	return o->first[row] != SNAP_NONE;
}

/* Returns how many jobs of a member may start now. */
static inline uint32_t order_may_start(const struct snap_member *m)
{
	return m->room < m->count ? m->room : m->count;
}

/* Count one more task of the row's array, if it has a limit. */
static inline void order_take_array(struct row_order *o, uint32_t row)
{
	uint32_t array = o->snap->pend.array[row];

	if (array != SNAP_NONE && o->snap->pend.resumes[row] == SNAP_NONE)
		o->in_array[array]++;
}

/* Whether the row's next job waits for its array, which runs as many tasks as
 * it may. */
bool order_waits_for_array(const struct row_order *o, uint32_t row);

/* Returns the key by which this member of the row is ordered once it is the
 * next. */
struct order_key order_key(const struct row_order *o, uint32_t row,
                           uint32_t member);

/* Returns the member that the verdict of a row is about: the first that waits
 * for anything but the limit of its array; if there is none, the first that
 * waits for that limit; SNAP_NONE if all jobs start. */
uint32_t order_waiting(const struct row_order *o, uint32_t row);

#endif
