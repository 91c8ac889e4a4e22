/*
 * ledger.h - what a job held and how long it ran, in milliseconds
 *
 * A job holds its nodes from the commit of a start until they are free again;
 * it runs from when its processes begin until they have ended, suspension
 * left out.  CPU is not held while it is suspended.  An elastic job holds
 * what it has at each instant.  The rates are known at each instant, so
 * nothing is done while nothing changes.
 *
 * When an attempt is over, a row of it is left for the store.
 */
#ifndef AISCHEDD_STATE_CLUSTER_LEDGER_H
#define AISCHEDD_STATE_CLUSTER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/sched/snap.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/names.h"

struct held_counts;
struct job;
struct state;

/* CPU and GPU in thousandths of a second, memory in MiB seconds. */
struct ledger_sum {
	int64_t ran_ms;
	int64_t held[RES_N];
};

/* Made when a job is first given nodes. */
struct ledger {
	struct ledger_sum now;    /* this attempt, up to booked_ms */
	struct ledger_sum before; /* all earlier attempts */
	int64_t began_ms;         /* this attempt; 0: none */
	int64_t booked_ms;        /* booked up to this time */
	int64_t rate[RES_N];      /* held since then */
	bool runs;                /* likewise */
	uint32_t most_tasks;      /* the most in this attempt */
	int64_t cpu_ms,
	    peak_kib; /* used by this attempt; SPEC_UNSET: not known */
	struct held_counts *counted; /* its rate is among these, or NULL */
};

/* An attempt that is over; owns its strings. */
struct attempt_row {
	uint64_t job, array, evict_by;
	uint32_t array_task, attempt, uid, user, tasks;
	char *queue, *account, *class, *pool, *nodes, *gpu_type; /* or NULL */
	int64_t began_ms, ended_ms;
	struct ledger_sum sum;
	int64_t cpu_ms, peak_kib; /* SPEC_UNSET: not known */
	int32_t exit_code, signal;
	enum job_state state; /* of the job after it; PENDING: requeued */
	uint8_t why, cause, evict;
};

/* Set the wall clock, as exactly as it is known, until the next call. */
void state_clock(struct state *state, int64_t wall_ms);

/* Book what the job held until now; call it when its place or state has
 * changed, or is about to. */
void ledger_book(struct state *state, struct job *job, int64_t now);

/* Set the final numbers of what the attempt used. */
void ledger_used(struct job *job, int64_t cpu_ms, int64_t peak_kib);

/* Close an attempt that still has its place; `to` is the job's next state. */
void ledger_close(struct state *state, struct job *job, enum job_state to,
                  enum reason why, int64_t now);

/* All attempts together, up to now. */
void ledger_total(const struct job *job, int64_t now_ms,
                  struct ledger_sum *ret);

/* For a loaded job that has a place: where no ledger says otherwise, it has
 * held that place since its start. */
void ledger_begin(struct state *state, struct job *job);

/* As text for the store, and back: NULL with EINVAL. */
void ledger_format(const struct ledger *ledger, struct buf *out);
struct ledger *ledger_parse(const char *text, struct err *err);

void attempt_row_fini(struct attempt_row *row);

#endif
