/*
 * lifecycle.h - events of one job
 */
#ifndef AISCHEDD_STATE_LIFE_LIFECYCLE_H
#define AISCHEDD_STATE_LIFE_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/state/job.h"
#include "libcommon/err.h"

struct state;

/* X(event): for each job state and event, a table in lifecycle.c has the
 * function that handles it. `unknown`: a runner does not know the attempt;
 * `noted`: it has a remark for the user; `used`: it says how busy GPUs are. */
#define EVENTS(X)       \
	X(hold)         \
	X(release)      \
	X(start)        \
	X(started)      \
	X(start_failed) \
	X(ended)        \
	X(lost)         \
	X(unknown)      \
	X(suspend)      \
	X(resume)       \
	X(resumed)      \
	X(requeue)      \
	X(preempt)      \
	X(signal)       \
	X(cancel)       \
	X(time_limit)   \
	X(deadline)     \
	X(shrink)       \
	X(shrunk)       \
	X(grow)         \
	X(replaced)     \
	X(used)         \
	X(noted)

enum event_kind {
#define X(sym) EV_##sym,
	EVENTS(X)
#undef X
	    EV_N
};

struct event_in {
	enum event_kind kind;
	int64_t now;
	uint32_t attempt;         /* of runners' events; 0: the current one */
	bool by_operator;         /* of hold, release, requeue */
	bool hold;                /* of requeue: put the job on hold */
	struct run_signal signal; /* of signal */
	bool suspended;           /* of started: found suspended by recover() */
	bool rebooted;            /* of lost: the node has rebooted */
	enum evict evict;         /* of preempt, suspend, shrink: why */
	uint64_t evict_by;        /* of the same: claimant's id; 0: none */
	const uint32_t *loss;     /* of shrink: tasks, ascending; not all */
	/* of shrink: number of tasks in loss; of shrunk: how many of the tasks
	 * told to end have ended, in the order in which they were told; 0: all
	 */
	uint32_t nlosses;
	uint32_t resize;   /* of shrunk: job's `resize` it answers; 0: any */
	uint32_t replaced; /* of replaced: tasks of the attempt so far */
	enum start_fault fault; /* of start_failed */
	struct strlist nodes;   /* of start_failed: nodes at fault; none: all */
	int64_t time;           /* of started: when */
	const char *text;       /* of start_failed, lost, replaced, noted */
	struct gpu_use gpu;     /* of used */
	int64_t idle_ms;        /* of used: for how long all GPUs were idle */
	const struct outcome *outcome; /* of ended */
	const struct placement *place; /* of start, resumed, grow: copied */
};

/*
 * Apply one event to the job. Late and repeated reports of runners are ignored.
 * Fails if the job is in the wrong state for a user's request (EINVAL, "job 12
 * is RUNNING: ..."), or may not do what is asked (EPERM).
 */
int state_event(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err);

/* --- for lifecycle_*.c -------------------------------------------------- */

/* A function of the table: handles an event for a job in a certain state. */
typedef int life_handler(struct state *state, struct job *job,
                         const struct event_in *ev, struct err *err);

#endif
