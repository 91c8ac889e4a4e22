/*
 * ledger.h - what a job held and how long it ran, in milliseconds
 *
 * A job holds its nodes from the commit of its start until they are free again.
 * It runs from when its processes begin until they have ended, without the time
 * of suspensions. CPUs are not held while the job is suspended. An elastic job
 * holds what its present tasks hold. The amounts that a job holds at a time are
 * rates; to book means to add rate times time to sums, which is done only when
 * a rate changes. When an attempt has ended, a row about it is left for the
 * store.
 */
#ifndef AISCHEDD_STATE_CLUSTER_LEDGER_H
#define AISCHEDD_STATE_CLUSTER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/sched/snap.h"
#include "aischedd/state/cluster/rollup.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/names.h"

struct held_counts;
struct job;
struct state;

/* Sums of an attempt, or of several. CPU and GPU time is in thousandths of a
 * second, memory in MiB seconds. */
struct ledger_sum {
	int64_t ran_ms;
	int64_t held[RES_N];
};

/*
 * A span of an attempt: its length, and the rates at which the job held
 * resources in it. A mixed piece is several spans merged into one, within one
 * hour of the clock; its of[] has sums of rates times milliseconds.
 */
struct ledger_piece {
	int64_t ms;
	bool mixed;
	int64_t of[RATES];
};

/* The accounts of one job; made when it first gets nodes. */
struct ledger {
	struct ledger_sum now;    /* sums of this attempt, up to booked_ms */
	struct ledger_sum before; /* sums of all earlier attempts */
	int64_t longest_ms;       /* run time of the longest earlier attempt */
	int64_t began_ms;         /* start of this attempt; 0: there is none */
	int64_t booked_ms;        /* time up to which `now` is booked */
	int64_t rate[RATES];      /* what the job has held since booked_ms */
	bool runs;                /* the job has run since booked_ms */
	uint32_t most_tasks;      /* most tasks at once in this attempt */
	int64_t cpu_ms,
	    peak_kib; /* used by this attempt; SPEC_UNSET: not known */
	/* use of GPUs by this attempt, and by earlier ones */
	struct gpu_use gpu, gpu_before;
	/* cost of earlier attempts; SPEC_UNSET: not known */
	int64_t cost_before;
	char *pool;      /* pool of the previous attempt, or NULL */
	int64_t idle_ms; /* for how long no GPU has done anything; not stored */
	/* wait before the first attempt; SPEC_UNSET in later ones */
	int64_t wait_ms;
	struct ledger_piece *piece; /* pieces of this attempt, up to piece_ms */
	size_t npieces, piece_cap;
	int64_t piece_ms; /* when the rates changed last */
	/* the counters that include rate[] now, or NULL */
	struct held_counts *counted;
	/* the rollup of this attempt, which includes rate[] */
	struct rollup *rollup;
	/* while loading: stored id of the rollup */
	int64_t rollup_id;
};

/* A row about an attempt that has ended, for the store; owns its strings. */
struct attempt_row {
	uint64_t job, evict_by;
	uint32_t attempt, uid, user, tasks;
	/* each may be NULL */
	char *queue, *account, *class, *pool, *nodes, *gpu_type;
	struct buf pieces; /* the pieces, packed by ledger_piece_pack() */
	int64_t cost; /* millionths of the currency, follows from the pieces */
	/* wait before the attempt; SPEC_UNSET: not the job's first one */
	int64_t wait_ms;
	int64_t began_ms, ended_ms;
	struct ledger_sum sum;
	int64_t cpu_ms, peak_kib; /* SPEC_UNSET: not known */
	struct gpu_use gpu;
	int32_t exit_code, signal;
	/* the job's state after the attempt; JOB_PENDING: requeued */
	enum job_state state;
	uint8_t why, cause, evict;
};

/* Tell the state the time of the wall clock, in milliseconds. */
void state_clock(struct state *state, int64_t wall_ms);

/* Book what the job has held until now, and note what it holds from now on.
 * Call it when the job's placement or state has changed; the first call begins
 * an attempt. */
void ledger_book(struct state *state, struct job *job, int64_t now);

/*
 * When the wall clock is set, do not book the time that it jumps over: call
 * ledger_pause() for all jobs with the last time of the old clock, then
 * ledger_go_on() with the first time of the new clock. If the clock was set
 * back, nothing is booked until the new clock reaches the end of what is booked
 * already.
 */
void ledger_pause(struct state *state, struct job *job, int64_t ms);
void ledger_go_on(struct state *state, struct job *job, int64_t ms);

/* Record what the attempt has used, as the runner reports at its end. */
void ledger_used(struct job *job, const struct outcome *out);

/* End the job's attempt, and leave a row about it for the store. Call it while
 * the job still has its nodes. to: the state that the job gets next. */
void ledger_close(struct state *state, struct job *job, enum job_state to,
                  enum reason why, int64_t now);

/* Get the sums of all of the job's attempts, up to now. */
void ledger_total(const struct job *job, int64_t now_ms,
                  struct ledger_sum *ret);

/* Get the use of GPUs in all of the job's attempts, as far as it is known. */
void ledger_gpu(const struct job *job, struct gpu_use *ret);

/* Returns the cost of all of the job's attempts up to now, in millionths of the
 * currency; SPEC_UNSET if a version without prices ran some of them. */
int64_t ledger_cost(const struct job *job, int64_t now_ms);

/* Returns the pool of the job's present or last attempt, borrowed; or NULL. */
const char *ledger_pool(const struct job *job);

/* Returns the run time of the job's longest attempt, including the present one,
 * in milliseconds. */
int64_t ledger_longest(const struct job *job, int64_t now_ms);

/* Prepare the ledger of a loaded job with nodes. If none was stored, assume
 * that the job has held its nodes since its start. */
void ledger_begin(struct state *state, struct job *job);

/* For a loaded ledger without a rollup, which an earlier version wrote: count
 * it in a rollup from booked_ms on. Call it after everything is loaded. */
void ledger_join(struct state *state, struct job *job);

/*
 * Read a piece written as text: milliseconds, then '*' and rates, or '=' and
 * the sums of a mixed piece, without zeros at the end. Pieces are separated by
 * ';', as in "5034*1000,100;12=9000,40". Moves *text behind the piece; at the
 * end, or if the piece is not valid, returns false and does not move *text.
 */
bool ledger_piece_parse(const char **text, struct ledger_piece *ret);

/* Append a piece in 5 to 15 bytes, usually: a number with its length, kind and
 * count of rates, then the rates; each number has 7 bits in a byte, the lowest
 * first, and the highest bit says that more bytes follow. */
void ledger_piece_pack(const struct ledger_piece *piece, struct buf *out);

/* Read a packed piece, and move *data and *left behind it. Returns false at the
 * end, or if the piece is not valid. */
bool ledger_piece_unpack(const unsigned char **data, size_t *left,
                         struct ledger_piece *ret);

/* Add the cost of a piece to *sum, in 3600000ths of a millionth of the
 * currency: prices are for an hour, and pieces are in milliseconds. */
void ledger_piece_cost(const struct ledger_piece *piece, __int128 *sum);

/* Returns such a sum in millionths of the currency. */
int64_t ledger_cost_of(__int128 sum);

/* Write a ledger as text for the store: numbers; after '|' the pieces; after
 * '@' the GPU use of earlier attempts; after '$' their cost and the pool of the
 * last of them. ledger_parse() reads such a text, or returns NULL and sets *err
 * to EINVAL. */
void ledger_format(const struct ledger *ledger, struct buf *out);
struct ledger *ledger_parse(const char *text, struct err *err);

void ledger_free(struct ledger *ledger); /* NULL is allowed */
void attempt_row_fini(struct attempt_row *row);

#endif
