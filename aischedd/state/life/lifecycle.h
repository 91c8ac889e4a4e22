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
	bool by_operator;         /* of hold and release */
	bool hold;                /* of requeue: hold it when it waits again */
	struct run_signal signal; /* of signal */
	bool suspended;           /* of started, after a recovery */
	bool rebooted;            /* lost */
	enum evict evict;         /* of preempt, suspend, shrink */
	uint64_t evict_by;        /* likewise: for which job; 0: none */
	const uint32_t *loss;     /* of shrink: tasks, ascending; not all */
	/* of shrunk: how many of the tasks told to end have ended, in the order
	 * in which they were told; 0: all */
	uint32_t nlosses;
	uint32_t resize;        /* of shrunk: the request it answers; 0: none */
	uint32_t replaced;      /* of replaced: how many by now */
	enum start_fault fault; /* start_failed */
	struct strlist nodes;   /* start_failed: on these; none: on all */
	int64_t time;           /* started */
	const char *text;       /* of start_failed, lost, replaced, noted */
	struct gpu_use gpu;     /* used */
	int64_t idle_ms;        /* used: no GPU did anything for so long */
	const struct outcome *outcome; /* ended */
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
