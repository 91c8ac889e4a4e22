/*
 * row.h - pending jobs that are alike form one row
 *
 * Jobs are alike if the policy cannot tell them apart: their keys are equal,
 * byte by byte.  A key is a struct row_key and the texts behind it.
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
	uint64_t req_hash; /* of the request's part of the key */
	uint64_t number;   /* rows are numbered as they are made, from 1 on */
	struct job *head, *tail,
	    *hint;     /* its jobs by id; hint: the last one inserted */
	uint32_t slot; /* > 0; small, and of no other row at the same time */
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
	uint64_t job; /* its id */
	int64_t since;
	uint32_t count; /* see job_count() */
	uint32_t slot;  /* of its row */
};

struct array_limit {
	uint64_t array;
	uint32_t running, limit;
};

/* For a plan: the index of each row that was there when its snapshot was taken.
 */
struct planned_rows {
	uint64_t serial; /* of the plan */
	uint64_t made;   /* rows ever made by then; 0: none */
	uint32_t nslots;
	uint32_t *of_slot; /* [nslots + 1]; written with the snapshot */
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
	uint64_t made;          /* rows ever made */
	size_t nmounts;         /* rows whose keys name volume claims */
	uint32_t nslots, *slot; /* slots ever used; those free now */
	size_t nfree_slots, slot_cap;
	uint32_t pins;       /* snapshots that read keys on another thread */
	struct row *dropped; /* rows to free once pins is 0 */
	struct planned_rows taken; /* by the last snapshot for a plan */
};

/* The request comes first, then its owner: in snapshots, jobs with the same
 * request share one copy, whoever owns them. */
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

/* The key of a placed job, kept because each snapshot needs it. */
struct placed_key {
	uint64_t req_hash;
	size_t len;
	_Alignas(struct row_key) char text[];
};

void rows_init(struct row_index *rows);
void rows_free(struct row_index *rows);

/* Returns the row's index in the plan in force; SNAP_NONE if the row is newer,
 * or the next plan is under way. */
uint32_t row_planned(const struct state *state, const struct row *row);

/* Returns the index of the row in that plan, or SNAP_NONE. */
static inline uint32_t planned_index(const struct planned_rows *planned,
                                     const struct row *row)
{
	return row->number <= planned->made ? planned->of_slot[row->slot]
	                                    : SNAP_NONE;
}

/* Returns the row's verdict in the last plan, or NULL. */
const struct verdict *row_verdict(const struct state *state,
                                  const struct row *row);

/* Keep the keys of all rows in place until rows_unpin(), because another thread
 * reads them to finish a snapshot. */
void rows_pin(struct row_index *rows);
void rows_unpin(struct row_index *rows);

/* Returns why the planner must skip the job, or WHY_None. */
enum reason state_ineligible(const struct state *state, const struct job *job);

/* Move the job to the row where it belongs now, or to none. */
void state_reindex(struct state *state, struct job *job, int64_t now);

/* Note how many tasks the record now has; call it when that changes. */
void row_count_again(struct state *state, const struct job *job);

/* Note the array's limit; call it when that changes. row_array_runs() adds to
 * the number of its tasks that hold nodes. */
void row_limit_array(struct state *state, const struct array *array);
void row_array_runs(struct state *state, uint64_t array, int by);
void row_forget_array(struct state *state, uint64_t array);

/* Whether the key names volume claims: the volumes of the state say what it
 * means. */
bool row_key_mounts(const char *key);

void row_key_build(const struct state *state, const struct job *job,
                   struct buf *out);
/* Get the texts behind the struct; borrowed from the key. */
void row_key_texts(const char *key, const char *ret[KEY_TEXTS]);

/* Returns the row in which the job would wait if it were eligible, or NULL. */
const struct row *row_like(const struct state *state, const struct job *job);

uint64_t row_req_hash(const char *key, size_t len);
const struct placed_key *placed_key(const struct state *state, struct job *job);
void placed_key_forget(struct job *job); /* call it when its request changes */
void row_remove(struct state *state, struct job *job);

#endif
