/*
 * lifecycle.h - events of one job
 */
#ifndef AISCHEDD_STATE_LIFE_LIFECYCLE_H
#define AISCHEDD_STATE_LIFE_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

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
	uint32_t attempt;       /* of runners; 0: the one that runs */
	bool by_operator;       /* hold, release */
	int signo;              /* signal */
	bool script_only;       /* signal */
	bool suspended;         /* started, after a recovery */
	bool rebooted;          /* lost */
	enum evict evict;       /* preempt, suspend, shrink */
	uint64_t evict_by;      /* the same: for this job, 0: none */
	const uint32_t *loss;   /* shrink: tasks, ascending; not all */
	uint32_t nlosses;       /* shrunk: as many, of those told first; 0:
	                         * all that were told */
	uint32_t resize;        /* shrunk: answers this one; 0: none */
	uint32_t replaced;      /* replaced: so many by now */
	enum start_fault fault; /* start_failed */
	struct strlist nodes;   /* the same: whose it is; none: all */
	int64_t time;           /* started */
	const char *text;       /* start_failed, lost, replaced, noted */
	const struct outcome *outcome; /* ended */
	const struct placement *place; /* start, resumed, grow: copied */
};

/*
 * Apply one event.  Events of runners that are stale or repeated change
 * nothing and do not fail.
 * Fails: EINVAL, "job 12 is RUNNING: ...".
 */
int state_event(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err);

/* --- for the other files of the life cycle ------------------------------ */

/* An entry of the table; lifecycle_*.c have them. */
typedef int life_handler(struct state *state, struct job *job,
                         const struct event_in *ev, struct err *err);

#endif
