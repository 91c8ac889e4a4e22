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
	struct row *chain;              /* another row with the same hash */
	uint64_t hash, req_hash;        /* of the key; of the request in it */
	struct job *head, *tail, *hint; /* by id; hint: the last one put in */
	uint64_t planned;               /* serial of the plan that judged it */
	uint32_t verdict;               /* its row there */
	uint32_t njobs, at;             /* at: in state->rows.row */
	uint32_t slot;                  /* > 0, the same as long as it is */
	uint32_t key_len;
	_Alignas(uint64_t) char key[];
};

/* All rows.  A slot is a small number that a row has while it exists. */
struct row_index {
	struct map by_hash; /* of the key */
	struct row **row;
	size_t n, cap;
	uint32_t nslots, *slot; /* ever used; those that no row has now */
	size_t nfree_slots, slot_cap;
};

/* What is asked for, then by whom. */
struct row_key {
	uint32_t tasks, min_tasks, nodes, tasks_per_node;
	int64_t cpus, mem, gpus, time_limit;
	uint64_t pools;
	uint8_t exclusive, one_process;
	uint8_t need, like, numa; /* as in struct snap_reqs */
	uint8_t pad[3];
	/* whose: */
	uint32_t queue, user;
	int64_t priority;
	int64_t served;   /* where the order looks at it, else 0 */
	uint64_t array;   /* of an array with a limit, else 0 */
	uint64_t claimer; /* the job, if nodes are held for it, else 0 */
	uint8_t preemptible, barred, pad2[6];
};

/* Texts behind it, each ended by a zero byte. */
enum {
	KEY_GPU_TYPE,
	KEY_RULE,
	KEY_WANT,
	KEY_AVOID,
	KEY_LICENSES,
	KEY_RESERVATION,
	KEY_TEXTS
};

/* The key of a job that holds nodes, kept because every snapshot needs it. */
struct placed_key {
	uint64_t req_hash;
	size_t len;
	_Alignas(struct row_key) char text[];
};

void rows_free(struct row_index *rows);

/* Why the job may not be planned; WHY_None: it may. */
enum reason state_ineligible(const struct state *state, const struct job *job);

/* Put the job in the row where it belongs by now, or in none. */
void state_reindex(struct state *state, struct job *job, int64_t now);

void row_key_build(const struct state *state, const struct job *job,
                   struct buf *out);
const char *row_text(const char *key, int which);

/* The row in which the job would wait if it were eligible, or NULL. */
const struct row *row_like(const struct state *state, const struct job *job);

uint64_t row_req_hash(const char *key, size_t len);
const struct placed_key *placed_key(const struct state *state, struct job *job);
void placed_key_forget(struct job *job); /* what it asks for has changed */
void row_remove(struct state *state, struct job *job);

#endif
