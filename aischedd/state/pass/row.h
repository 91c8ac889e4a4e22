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

struct state;

struct row {
	struct row *chain;       /* next row with the same hash */
	uint64_t hash, req_hash; /* of the key; of the request's part of it */
	struct job *head, *tail,
	    *hint;   /* its jobs by id; hint: the last one inserted */
	uint32_t at; /* index in state->rows */
	uint32_t key_len;
	_Alignas(uint64_t) char key[];
};

/* The part of a row that each snapshot reads at once. It lies beside that of
 * the next row, so that reading a million of them does not miss the cache. */
struct row_brief {
	uint64_t planned; /* serial of the plan that judged it */
	uint32_t verdict; /* its row in that plan */
	uint32_t slot;    /* > 0; the same as long as the row exists */
	uint32_t njobs : 31;
	uint32_t mounts : 1; /* 1: its key names volume claims */
};

/* All rows. A slot is a small number that a row keeps as long as it exists. */
struct row_index {
	struct map by_hash; /* by hash of the key */
	struct row **row;
	struct row_brief *brief; /* by index of the row */
	size_t n, cap, brief_cap;
	uint32_t nslots, *slot; /* slots ever used; those free now */
	size_t nfree_slots, slot_cap;
	uint32_t pins;       /* snapshots that read keys on another thread */
	struct row *dropped; /* rows to free once pins is 0 */
};

/* The request comes first, then its owner: in snapshots, jobs with the same
 * request share one copy, whoever owns them. */
struct row_key {
	uint32_t tasks, min_tasks, nodes, tasks_per_node, segment;
	int64_t cpus, mem, gpus, time_limit;
	uint64_t pools;
	uint8_t exclusive, one_process;
	uint8_t need, like, numa, links; /* as in struct snap_reqs */
	uint8_t pad[2];
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

void rows_free(struct row_index *rows);

/* Returns the row's verdict in the last plan, or NULL. */
const struct verdict *row_verdict(const struct state *state,
                                  const struct row *row);

/* Keep the keys of all rows where they are until rows_unpin(): a snapshot is
 * finished on another thread. */
void rows_pin(struct row_index *rows);
void rows_unpin(struct row_index *rows);

/* Returns why the planner must skip the job, or WHY_None. */
enum reason state_ineligible(const struct state *state, const struct job *job);

/* Move the job to the row where it belongs now, or to none. */
void state_reindex(struct state *state, struct job *job, int64_t now);

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
