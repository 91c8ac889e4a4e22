/*
 * snap_build.h - state to snapshot, piece by piece
 *
 * snapshot.c puts the pieces together: snap_node.c makes nodes and
 * reservations, snap_req.c requests, snap_job.c running and pending jobs.
 *
 * First all is taken that may change; then what rows ask for is read from their
 * keys, which do not change, and that may happen on another thread.
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_BUILD_H
#define AISCHEDD_STATE_PASS_SNAP_BUILD_H

#include <stddef.h>

#include "aischedd/state/pass/round.h"
#include "aischedd/state/state_priv.h"

struct row;
struct pend_columns;

/* Rows as they were taken. */
struct taken_rows {
	size_t n;
	const struct row **row;  /* written when they are read */
	struct pend_columns *to; /* rows 0 to n - 1 of these are still empty */
	struct roster all, waiting, limits; /* of struct row_index */
	uint32_t *of_slot;                  /* see struct planned_rows */
	struct map light;          /* queue and user -> lightness + 1 */
	struct snap_member extra;  /* one more job of the row with this slot */
	uint32_t extra_slot;       /* 0: none */
	struct arena_list limited; /* indices of rows of arrays with limits */
	/* Rows for which nodes are held, in order, each with the end of its
	 * slice of claims. */
	struct row_claim *claimant;
	size_t nclaimants;
	uint32_t first_claim;
};

struct build {
	const struct state *state; /* NULL after all is taken */
	struct job *placed;        /* placed jobs to include */
	struct arena *arena;
	struct arena *scratch; /* freed when the snapshot is built */
	struct snap *snap;
	struct map word_of, req_of; /* hash -> index + 1 */
	struct map host_of;         /* name of a node -> index + 1 */
	uint32_t *namesake;         /* of a node: index + 1, 0: no other */
	struct map array_claims;    /* array -> its tasks that have claims */
	struct arena_list words, features, taints, rules, prefers, wants,
	    avoids, uses;
	struct arena_list claims, guests; /* claims; users of reservations */
	struct arena_list reqs;           /* list in scratch */
	struct taken_rows rows;
	struct judgements judged;
};

/* Allocate a column to write: the snapshot's own are const. */
#define COLUMN(type, n) arena_array(b->arena, type, (n) + 1)

/* Append an element to a list of the snapshot. */
static inline void *snapshot_push(struct build *b, struct arena_list *list,
                                  size_t size)
{
	return arena_push(b->arena, list, size);
}

#endif
