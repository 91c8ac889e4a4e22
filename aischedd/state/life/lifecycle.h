/*
 * lifecycle.h - events that change the state of a job
 */
#ifndef AISCHEDD_STATE_LIFE_LIFECYCLE_H
#define AISCHEDD_STATE_LIFE_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/state/job.h"
#include "libcommon/err.h"

struct state;

/* X(event): the events. For each job state and event, a table in lifecycle.c
 * has the function that handles it. `unknown`: the runner does not know the
 * attempt; `noted`: the runner has a remark for the job's user; `used`: the
 * runner says how busy the GPUs are. */
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
	X(tasks_lost)   \
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
	/* of events from runners: number of the attempt; 0: the present one */
	uint32_t attempt;
	/* of hold, release, requeue, suspend: an operator asks */
	bool by_operator;
	/* of hold by an operator: the job's user may release the job */
	bool lenient;
	/* of requeue: the one who asks is not the job's user */
	bool by_other;
	bool hold;                /* of requeue: put the job on hold */
	struct run_signal signal; /* of signal: which one to send */
	/* of started: after a restart the runner found the job suspended */
	bool suspended;
	/* of started: after a restart the runner found the job in this
	 * namespace; or NULL */
	const char *space;
	bool rebooted; /* of lost: the node has rebooted */
	/* of preempt, suspend, shrink: why the job is evicted */
	enum evict evict;
	/* of preempt, suspend, shrink: the job that gets the nodes; 0: none */
	uint64_t evict_by;
	/* of shrink: indexes of the tasks to evict, ascending; never
	 * all tasks */
	const uint32_t *loss;
	/* of shrink: number of tasks in `loss`. of shrunk: this many tasks,
	 * the first ones in job->runs->leaving, have ended; 0: all have */
	uint32_t nlosses;
	/* of shrunk: the value of the job's `resize` to which the runner
	 * answers; 0: any. of tasks_lost: the value that the runner knew */
	uint32_t resize;
	/* of replaced: how many failed tasks of the attempt were replaced
	 * so far */
	uint32_t replaced;
	enum start_fault fault; /* of start_failed: who or what is at fault */
	/* of start_failed: nodes at fault; empty: all nodes of the job. of
	 * tasks_lost: the node of each task */
	struct strlist nodes;
	/* of tasks_lost: nodes that did not take a task */
	struct strlist refused;
	/* of tasks_lost: the GPUs of each task, as bits; 0: not known */
	const uint64_t *gpus;
	int64_t time; /* of started: when the job started */
	/* of start_failed, lost, replaced, tasks_lost, noted: a remark for the
	 * job's user */
	const char *text;
	struct gpu_use gpu; /* of used: use of GPUs by the attempt so far */
	int64_t idle_ms;    /* of used: for how long all GPUs were idle */
	const struct outcome *outcome; /* of ended: how the attempt ended */
	const struct placement *place; /* of start, resumed, grow; copied */
};

/*
 * Apply one event to the job. Late and repeated reports of runners are ignored.
 * Fails with EINVAL if the job is in the wrong state for a user's request ("job
 * 12 is RUNNING: ..."), and with EPERM if the user or the job's options do not
 * allow it.
 */
int state_event(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err);

/* --- for lifecycle_*.c -------------------------------------------------- */

/* A function of the table in lifecycle.c: handles one kind of event for a job
 * in one state. */
typedef int life_handler(struct state *state, struct job *job,
                         const struct event_in *ev, struct err *err);

#endif
