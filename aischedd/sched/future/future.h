/*
 * future.h - what each node has free from now on
 *
 * Each node has a list of points in time. A point says what the node has free
 * until the next point; this changes when a running job ends, and when a
 * promised job starts or ends. The list is computed when it is first asked for,
 * and again when something is added to the node.
 */
#ifndef AISCHEDD_SCHED_FUTURE_FUTURE_H
#define AISCHEDD_SCHED_FUTURE_FUTURE_H

#include "aischedd/sched/future/nodes.h"
#include "aischedd/sched/place.h"

/* The amounts that a node has free and a task needs. */
enum future_dim {
	FUTURE_CPU,
	FUTURE_MEM,
	FUTURE_TMP,
	FUTURE_SLOT,
	FUTURE_GPU,
	FUTURE_WHOLE, /* GPUs that are wholly free */
	FUTURE_IDLE,  /* CPUs that are wholly free, if the snapshot lists the
	                 CPUs of the node one by one */
	FUTURE_N
};

/* `whose` is the index of a reservation, if only its users may use a node, or
 * one of these values. */
#define FUTURE_ANYBODY SNAP_NONE
/* no user, because nothing may start before the node's retry_at (snap.h) */
#define FUTURE_NOBODY (SNAP_NONE - 1)

struct future_point {
	int64_t have[FUTURE_N]; /* free; -1: an exclusive job has the whole
	                           node */
	uint32_t ntasks;
	uint32_t nkept; /* for how many jobs something is kept at that time */
	uint32_t whose;
};

/* From at[i] until at[i + 1], point[i] holds; at[0] is now. */
struct future_course {
	uint32_t n; /* number of points, > 0 */
	const int64_t *at;
	const struct future_point *point;
};

/* Something kept on a node from one time until another: n tasks of a job or,
 * for a reservation (resv), the whole node. */
struct future_due {
	int64_t start, end; /* end SNAP_NEVER: for ever */
	uint64_t job;
	uint32_t resv; /* the reservation; SNAP_NONE: kept for a job */
	uint32_t req, n;
	uint32_t resumes; /* index in snap.task of the first task that resumes,
	                     or SNAP_NONE */
	/* Owned by future.c: the next entry of the node, and the tasks of this
	 * entry that a walk has placed. */
	struct future_due *next;
	uint32_t ntasks;
	struct snap_task *task;
	struct snap_cpu_use *use;
	uint64_t *held;     /* by task: its pieces; NULL: there are none */
	uint64_t own;       /* GPUs that the job already has there */
	uint32_t nwithheld; /* tasks that do not fit: a walk subtracts their
	                       amounts, but gives them no devices */
	bool lacks;         /* a walk found less free than this entry keeps */
	bool is_void; /* less is free than this entry keeps, even without the
	                 tasks on trial: see try_it() */
};

/* The needs of one task, to be compared with points; where a part of a GPU is
 * asked for by its memory, the least that this could be on any node. */
struct future_ask {
	uint32_t req;
	int64_t need[FUTURE_N];
	int64_t most;   /* count at most this many tasks on one node */
	uint32_t whose; /* the reservation that the job names, or
	                   FUTURE_ANYBODY */
	bool exclusive;
	bool goes_on; /* the task resumes, and still has its memory and GPUs */
	bool odd;     /* free amounts alone do not decide whether the task
	                 fits */
};

/* Returns how many tasks fit at one point. */
static inline int64_t future_ask_count(const struct future_ask *ask,
                                       const struct future_point *pt)
{
	int64_t n = ask->most;

	if (pt->have[0] < 0 || pt->whose != ask->whose ||
	    (ask->exclusive && pt->ntasks))
		return 0;
	for (int d = 0; d < FUTURE_N; d++) {
		if (pt->have[d] < ask->need[d])
			return 0;
		if (pt->have[d] < n * ask->need[d])
			n = pt->have[d] / ask->need[d];
	}
	return n;
}

/* Returns the index of the point that is in force at this time. */
static inline uint32_t future_course_at(const struct future_course *c,
                                        int64_t at)
{
	uint32_t lo = 0, hi = c->n;

	if (hi > 1 && c->at[1] > at) /* the usual case */
		return 0;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->at[mid] > at)
			hi = mid;
		else
			lo = mid;
	}
	return lo;
}

struct future;

/* changes: whether any running job ends at a known time */
struct future *future_new(struct place *place, bool changes);

/* Whether any running job ends at a known time. */
bool future_changes(const struct future *a);

/* future_patience() returns how many more points this pass may look at, which
 * may be below 0; future_spend() subtracts from it. */
int64_t future_patience(const struct future *a);
void future_spend(struct future *a, size_t points);

/* Returns the orders of nodes by the time at which they could first have room,
 * updated for the evictions of this pass. */
struct future_nodes *future_nodes_of(struct future *a);

struct future_ask future_ask_of(const struct future *a, uint32_t req,
                                int64_t most);

/* A suspended job needs only its CPUs: it has kept everything else. */
static inline void future_ask_go_on(struct future_ask *ask)
{
	ask->need[FUTURE_MEM] = ask->need[FUTURE_TMP] = 0;
	ask->need[FUTURE_SLOT] = 0;
	ask->need[FUTURE_GPU] = ask->need[FUTURE_WHOLE] = 0;
	ask->goes_on = true;
}

/* Returns how much of a dimension a task needs on a node. */
int64_t future_need(const struct future *a, const struct future_ask *ask,
                    uint32_t node, enum future_dim dim);

/* Whether free amounts alone do not decide what fits on the node, because NUMA
 * nodes, links, parts of devices, or devices other than GPUs matter, too. */
bool future_is_odd(const struct future *a, uint32_t node,
                   const struct future_ask *ask);

/* Returns the points of a node, valid until something is added to the node. */
struct future_course future_course_of(struct future *a, uint32_t node);

/* Returns for each point of a node how many tasks fit there at that time, at
 * most ask->most. */
const int64_t *future_counts(struct future *a, uint32_t node,
                             const struct future_ask *ask);

/*
 * Whether n tasks can be on the node from one time until another (SNAP_NEVER:
 * for ever) beside what is kept for other jobs. If not, *ret is the entry with
 * which they collide. While the node keeps nothing for other jobs, it is not
 * checked whether the tasks fit: the caller has done so.
 */
bool future_allows(struct future *a, uint32_t node,
                   const struct future_ask *ask, int64_t n, int64_t from,
                   int64_t until, const struct future_due **ret);

/* Add an entry to the list of a node, and mark the node as watched. */
void future_keep(struct future *a, uint32_t node, const struct future_due *due);
/* Remove an entry that future_keep() has added for a job. */
void future_release(struct future *a, uint32_t node,
                    const struct future_due *due);

/* Add the tasks that the current trial of struct place has placed: they are on
 * their nodes from now until place->until. */
void future_add(struct future *a, uint32_t req);
/* Add one task, by its index in place->task. */
void future_add_task(struct future *a, uint32_t req, size_t task);
/* future_added() returns how many tasks were added; future_drop() removes all
 * but the first n of them. */
size_t future_added(const struct future *a);
void future_drop(struct future *a, size_t n);

/* Returns the first entry of the node for which too little is free, or NULL. */
const struct future_due *future_lacking(struct future *a, uint32_t node);

/* Note that a task of a running job is evicted (leaves), or that it stays
 * after all. */
void future_leave(struct future *a, uint32_t task, bool leaves);

#endif
