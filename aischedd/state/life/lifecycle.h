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

/* X(event): lifecycle.c has one table of job state x event. */
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
	bool suspended;           /* of started, after a recovery */
	bool rebooted;            /* of lost: the node has rebooted */
	enum evict evict;         /* of preempt, suspend, shrink */
	uint64_t evict_by;        /* of these: the claimant's id; 0: none */
	const uint32_t *loss;     /* of shrink: tasks, ascending; not all */
	/* of shrunk: how many of the tasks told to end have ended, in the order
	 * in which they were told; 0: all */
	uint32_t nlosses;
	uint32_t resize;        /* of shrunk: the request it answers; 0: none */
	uint32_t replaced;      /* of replaced: how many by now */
	enum start_fault fault; /* of start_failed */
	struct strlist nodes;   /* of start_failed: where; empty: all */
	int64_t time;           /* of started */
	const char *text;       /* of start_failed, lost, replaced, noted */
	struct gpu_use gpu;     /* of used */
	int64_t idle_ms;        /* of used: for how long all GPUs were idle */
	const struct outcome *outcome; /* of ended */
	const struct placement *place; /* of start, resumed, grow: copied */
};

/*
 * Apply one event. Stale or repeated events of runners change nothing and do
 * not fail. Fails with EINVAL, "job 12 is RUNNING: ...".
 */
int state_event(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err);

/* --- for lifecycle_*.c -------------------------------------------------- */

/* An entry of the table. */
typedef int life_handler(struct state *state, struct job *job,
                         const struct event_in *ev, struct err *err);

#endif
