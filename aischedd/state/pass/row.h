/*
 * row.h - pending jobs that are alike form one row
 *
 * The scheduler treats all jobs of a row in the same way. Jobs are in one row
 * if their keys are equal, byte by byte. A key is a struct row_key and the
 * texts behind it: all that the scheduler looks at but the waiting time.
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

struct row {
	struct row *chain; /* next row with the same hash of its key */
	uint64_t req_hash; /* row_req_hash() of the key */
	uint64_t number;   /* 1 for the first row ever made, then 2, ... */
	struct job *head, *tail,
	    *hint;     /* its jobs by id; hint: the last one inserted */
	uint32_t slot; /* > 0; unique; used again after the row is freed */
	uint32_t njobs;
	uint32_t key_len;
	_Alignas(uint64_t) char key[];
};

/* Entries of the rosters in struct row_index. */
struct row_entry {
	uint64_t number;
	struct row *row;
};

struct row_job {
	uint64_t job;   /* its id */
	int64_t since;  /* start of its waiting time */
	uint32_t count; /* see job_count() */
	uint32_t slot;  /* of its row */
};

struct array_limit {
	uint64_t array;          /* its id */
	uint32_t running, limit; /* tasks that hold nodes, and that may */
};

/* The indices that rows have in a plan. A row that was made after the snapshot
 * of the plan was taken (number > made) has none. */
struct planned_rows {
	uint64_t serial; /* of the plan */
	uint64_t made;   /* row_index.made when the snapshot was taken */
	uint32_t nslots;
	uint32_t *of_slot; /* index of the row in each slot; [nslots + 1];
	                      written when the snapshot is finished */
};

/*
 * All rows, and what a snapshot needs of all jobs in rows. A snapshot takes
 * copies of the three rosters and reads them on another thread: with a million
 * jobs, a look at each would hold up the loop.
 */
struct row_index {
	struct map by_hash;     /* by hash of the key */
	struct roster all;      /* struct row_entry */
	struct roster waiting;  /* struct row_job */
	struct roster limits;   /* struct array_limit, if there is a limit */
	uint64_t made;          /* how many rows have ever been made */
	size_t nmounts;         /* rows whose keys name volume claims */
	uint32_t nslots, *slot; /* highest slot ever used; the free slots */
	size_t nfree_slots, slot_cap;
	uint32_t pins;       /* snapshots that still read keys: rows_pin() */
	struct row *dropped; /* rows to be freed when pins is 0 */
	struct planned_rows taken; /* rows of the last snapshot for a plan */
};

/* The first part is what a job asks for. In snapshots, all rows with the same
 * request share one copy, whoever owns the jobs. */
struct row_key {
	uint32_t tasks, min_tasks, nodes, tasks_per_node, segment;
	int64_t cpus, mem, gpus, time_limit;
	uint64_t pools;
	uint8_t exclusive, one_process;
	uint8_t need, like, numa, links; /* as in struct snap_reqs */
	uint8_t spread, spread_like;
	/* The owner, from queue on: row_req_hash() leaves this part out. */
	uint32_t queue, user;
	int64_t priority;
	int64_t served;   /* 0 unless the order of jobs uses it */
	uint64_t array;   /* 0 unless the array has a limit */
	uint64_t claimer; /* id of the job if nodes are held for it, else 0 */
	uint8_t preemptible, barred, pad2[6];
};

/* The texts behind the struct, each ended by a zero byte. */
enum {
	KEY_GPU_TYPE,
	KEY_RULE,
	KEY_PREFER,
	KEY_WANT,
	KEY_AVOID,
	KEY_LICENSES,
	KEY_RESERVATION,
	KEY_CLAIMS,
	KEY_TEXTS
};

/* The key of a placed job, stored with the job because each snapshot needs
 * it. */
struct placed_key {
	uint64_t req_hash;
	size_t len;
	_Alignas(struct row_key) char text[];
};

void rows_init(struct row_index *rows);
void rows_free(struct row_index *rows);

/* Returns the row's index in the last plan; SNAP_NONE if the row is newer, or
 * if a snapshot for the next plan was taken since. */
uint32_t row_planned(const struct state *state, const struct row *row);

/* Returns the index of the row in the plan that `planned` is about, or
 * SNAP_NONE. */
static inline uint32_t planned_index(const struct planned_rows *planned,
                                     const struct row *row)
{
	return row->number <= planned->made ? planned->of_slot[row->slot]
	                                    : SNAP_NONE;
}

/* Returns the row's verdict in the last plan, or NULL. */
const struct verdict *row_verdict(const struct state *state,
                                  const struct row *row);

/* Free no row until rows_unpin(), because another thread reads the keys of rows
 * to finish a snapshot. */
void rows_pin(struct row_index *rows);
void rows_unpin(struct row_index *rows);

/* Returns why the planner must skip the job, or WHY_None. */
enum reason state_ineligible(const struct state *state, const struct job *job);

/* Move the job to the row where it belongs now, or to none. */
void state_reindex(struct state *state, struct job *job, int64_t now);

/* Update the number of tasks in the entry of an array record; call it when that
 * has changed. */
void row_count_again(struct state *state, const struct job *job);

/* Update the entry of an array in the roster of limits; call it when its limit
 * has changed. */
void row_limit_array(struct state *state, const struct array *array);
/* Add `by` to the number of tasks of an array that hold nodes. */
void row_array_runs(struct state *state, uint64_t array, int by);
void row_forget_array(struct state *state, uint64_t array);

/* Whether the key names volume claims. Such a key must be read on the loop's
 * thread, because only the state knows the volumes. */
bool row_key_mounts(const char *key);

/* Append the key of the job. */
void row_key_build(const struct state *state, const struct job *job,
                   struct buf *out);
/* Get the texts behind the struct; borrowed from the key. */
void row_key_texts(const char *key, const char *ret[KEY_TEXTS]);

/* Returns the row in which the job would wait if it were eligible, or NULL. */
const struct row *row_like(const struct state *state, const struct job *job);

/* Returns the hash of the request in a key: without the owner. */
uint64_t row_req_hash(const char *key, size_t len);
/* Returns the key of a placed job; makes it if the job has none. */
const struct placed_key *placed_key(const struct state *state, struct job *job);
/* Free that key; call it when what it is made from has changed. */
void placed_key_forget(struct job *job);
/* Remove the job from its row, if it is in one. */
void row_remove(struct state *state, struct job *job);

#endif
