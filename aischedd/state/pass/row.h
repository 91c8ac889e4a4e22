/*
 * row.h - rows: groups of pending jobs that the scheduler need not tell apart
 *
 * The scheduler treats all jobs of a row in the same way. Jobs are in one row
 * if their keys are equal, byte by byte. A key is a struct row_key followed by
 * texts: everything that the scheduler looks at except the waiting time.
 */
#ifndef AISCHEDD_STATE_PASS_ROW_H
#define AISCHEDD_STATE_PASS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/job.h"
#include "libcommon/buf.h"
#include "libcommon/map.h"
#include "libcommon/roster.h"

struct array;
struct state;

/* A block of memory that is to be freed; the first member of such blocks. */
struct dropped {
	struct dropped *next;
};

struct drop_list {
	struct dropped *first, *last;
};

struct row {
	union {
		struct row *chain; /* next row with the same hash of its key */
		struct dropped dropped;
	};
	uint64_t req_hash; /* row_req_hash() of the key */
	uint64_t number;   /* 1 for the first row ever made, then 2, ... */
	/* its jobs in order of ids; hint: the job inserted last */
	struct job *head, *tail, *hint;
	uint32_t slot; /* > 0, unique; reused after the row was freed */
	uint32_t njobs;
	uint32_t key_len;
	_Alignas(uint64_t) char key[];
};

/* The next three structs are the entries of the rosters in struct row_index. */
struct row_entry {
	uint64_t number;
	struct row *row;
};

struct row_job {
	uint64_t job;   /* id of the job */
	int64_t since;  /* since when the job has been waiting */
	uint32_t count; /* number of tasks, see job_count() */
	uint32_t slot;  /* slot of its row */
};

struct array_limit {
	uint64_t array; /* id of the array */
	/* running: number of tasks that hold nodes; limit: how many may hold
	 * nodes at once */
	uint32_t running, limit;
};

/* The index that each row has in a plan. Rows that were made after the plan's
 * snapshot was taken (number > made) have none. */
struct planned_rows {
	uint64_t serial; /* number of the plan, as in struct last_plan */
	uint64_t made;   /* row_index.made when the snapshot was taken */
	uint32_t nslots;
	/* of_slot[slot]: index of the row with this slot; nslots + 1 elements,
	 * written when the snapshot is finished */
	uint32_t *of_slot;
};

/* The highest priorities of the rows of a queue, for `top`. */
struct row_top {
	int64_t best;    /* INT64_MIN: the queue has no row */
	int64_t next;    /* the highest of the rows other than `number` */
	uint64_t number; /* a row whose priority is `best` */
};

/*
 * All rows, and what a snapshot needs to know of all jobs in rows. A snapshot
 * copies the three rosters (cheap: copies share memory) and reads the copies on
 * another thread: with a million jobs, a look at each would hold up the loop.
 */
struct row_index {
	/* struct row by the hash of its key; more with the same
	 * hash: row->chain */
	struct map by_hash;
	struct roster all;     /* struct row_entry */
	struct roster waiting; /* struct row_job */
	/* struct array_limit, of arrays that have a limit */
	struct roster limits;
	uint64_t made; /* number of rows ever made */
	/* number of rows for which row_key_asks() is true */
	size_t nasking;
	/* highest slot ever used; list of the free slots */
	uint32_t nslots, *slot;
	size_t nfree_slots, slot_cap;
	/* number of snapshots that still read keys: rows_pin() */
	uint32_t pins;
	/* empty rows and forgotten keys, which snapshots may still read; and
	 * those that no snapshot reads, which are freed in slices */
	struct drop_list dropped, unread;
	/* indexes of rows in the last snapshot taken for a plan */
	struct planned_rows taken;
	/* One for each queue; valid as long as `made` and the number of rows
	 * are top_made and top_n, so no row was made or freed meanwhile. */
	struct row_top *top;
	size_t ntops, top_n;
	uint64_t top_made;
};

/* The part of a key that is numbers. The members before `queue` are the
 * request; in a snapshot, all rows with equal requests share one copy of it,
 * even if their jobs have different owners. */
struct row_key {
	int64_t cpus, mem, tmp, gpus, gpu_mem, time_limit;
	uint64_t pools;
	uint32_t tasks, min_tasks, nodes, tasks_per_node, segment;
	struct device_counts devs;
	uint8_t exclusive, one_process;
	uint8_t need, like, numa, links; /* as in struct snap_reqs */
	uint8_t spread, spread_like, pcie, near;
	/* Members from `queue` on say whose job it is and how it is treated;
	 * row_req_hash() leaves them out. */
	uint32_t queue, user;
	uint8_t preemptible, barred, pad[2];
	int64_t priority;
	/* as in struct job if the configured order of jobs uses it, else 0 */
	int64_t served;
	/* id of the job's array if that has a limit, else 0 */
	uint64_t array;
	uint64_t claimer; /* id of the job if it has a claim, else 0 */
};

/* The texts that follow the struct in a key, each ended by a zero byte. */
enum {
	KEY_GPU_TYPE,
	KEY_RULE,
	KEY_PREFER,
	KEY_WANT,
	KEY_AVOID,
	KEY_LICENSES,
	KEY_RESERVATION,
	KEY_CLAIMS,
	KEY_AFFINITY, /* affinity_key() */
	KEY_TEXTS
};

/* The key of a job that holds nodes. It is kept with the job, because each
 * snapshot needs it. */
struct placed_key {
	struct dropped dropped;
	uint64_t req_hash;
	_Alignas(struct row_key) char text[];
};

void rows_init(struct row_index *rows);
void rows_free(struct row_index *rows);

/* Returns the row's index in the last plan; SNAP_NONE if the row was made
 * later, or if a snapshot for the next plan has been taken since. */
uint32_t row_planned(const struct state *state, const struct row *row);

/* Returns the row's index in the plan that `planned` belongs to,
 * or SNAP_NONE. */
static inline uint32_t planned_index(const struct planned_rows *planned,
                                     const struct row *row)
{
	return row->number <= planned->made ? planned->of_slot[row->slot]
	                                    : SNAP_NONE;
}

/* Returns the row's verdict in the last plan, or NULL. */
const struct verdict *row_verdict(const struct state *state,
                                  const struct row *row);

/* Keep all rows and keys of placed_key() allocated until rows_unpin(), because
 * another thread reads them to finish a snapshot. */
void rows_pin(struct row_index *rows);
void rows_unpin(struct row_index *rows);
/* Free some of the rows and keys that no snapshot reads. The first call is
 * rows_unpin()'s; if rows_are_left(), call it again in the next turn. */
void rows_free_some(struct row_index *rows);
bool rows_are_left(const struct row_index *rows);

/* Returns why the job is kept out of plans (held, waits for a dependency ...),
 * or WHY_None. */
enum reason state_ineligible(const struct state *state, const struct job *job);

/* Put the job in the row where it belongs now; remove it from its row if it
 * belongs in none. */
void state_reindex(struct state *state, struct job *job, int64_t now);

/* Returns the highest priority of the jobs in rows of the job's queue other
 * than the job itself, or INT64_MIN if there are none. Looks at all rows unless
 * none was made or freed since the last call of this or the next function. */
int64_t row_highest_other(struct state *state, const struct job *job);
/* Update what row_highest_other() remembers, after the job was given the
 * highest priority of its queue. next: what that function returned for this
 * job; no other job may have changed its row since. */
void row_is_highest(struct state *state, const struct job *job, int64_t next);
/* Forget it, because queues have other numbers. */
void row_forget_tops(struct state *state);

/* Update the job's entry in the roster of waiting jobs; call it when the number
 * of tasks of an array record has changed. */
void row_count_again(struct state *state, const struct job *job);

/* Update the array's entry in the roster of limits; call it when its limit, or
 * the number of its tasks that hold nodes, has changed. */
void row_limit_array(struct state *state, const struct array *array);
/* row_array_runs() adds `by` to the number of the array's tasks that hold
 * nodes; row_forget_array() drops its entry in the roster of limits. */
void row_array_runs(struct state *state, uint64_t array, int by);
void row_forget_array(struct state *state, uint64_t array);

/* Whether the key has volume claims, or a text of affinity_key(). The request
 * of such a key must be read on the loop's thread, because only the state knows
 * where these volumes and the jobs named by --near and --apart are. */
bool row_key_asks(const char *key);

/* Append the job's key to *out. */
void row_key_build(const struct state *state, const struct job *job,
                   struct buf *out);
/* Get the texts of a key, in the order of the enum above; borrowed from
 * the key. */
void row_key_texts(const char *key, const char *ret[KEY_TEXTS]);

/* Returns the row with the job's key, or NULL: the row in which it would wait
 * if it were eligible. */
const struct row *row_like(const struct state *state, const struct job *job);

/* Returns the hash of the request in a key: of the members before `queue` and
 * the texts. */
uint64_t row_req_hash(const char *key, size_t len);
/* Returns the key of a job that holds nodes, and builds it if the job
 * has none. */
const struct placed_key *placed_key(const struct state *state, struct job *job);
/* Forget the key of placed_key(); call it when something that the key contains
 * has changed. */
void placed_key_forget(struct state *state, struct job *job);
/* Remove the job from its row, if it is in one. */
void row_remove(struct state *state, struct job *job);

#endif
