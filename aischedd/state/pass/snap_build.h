/*
 * snap_build.h - how a snapshot is built from the state, piece by piece
 *
 * snapshot.c puts the pieces together: snap_node.c makes nodes and
 * reservations, snap_req.c requests, snap_job.c running and pending jobs.
 *
 * First, all that may change is copied. Then the requests of rows are read from
 * their keys, which never change, so this may be done on another thread.
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_BUILD_H
#define AISCHEDD_STATE_PASS_SNAP_BUILD_H

#include <stddef.h>

#include "aischedd/state/pass/round.h"
#include "aischedd/state/state_priv.h"

struct row;
struct pend_columns;

/* Copies of all that is needed to read the rows later. */
struct taken_rows {
	size_t n;
	const struct row **row;  /* written when the rows are read */
	struct pend_columns *to; /* rows 0 to n - 1 of these are written then */
	struct roster all, waiting, limits; /* of struct row_index */
	uint32_t *of_slot;                  /* see struct planned_rows */
	struct map light;         /* queue and user -> lightness + 1 */
	struct snap_member extra; /* the extra job, in the row with this slot */
	uint32_t extra_slot;      /* 0: none */
	struct arena_list limited; /* indices of rows of arrays with limits */
	/* Rows for which nodes are held, in the order of rows, each with the
	 * end of its slice of the claims. */
	struct row_claim *claimant;
	size_t nclaimants;
	uint32_t first_claim;
};

struct build {
	const struct state *state; /* NULL after all was copied */
	struct job *placed;        /* list of placed jobs, or NULL: none */
	struct arena *arena;
	struct arena *scratch; /* freed when the snapshot is finished */
	struct snap *snap;
	struct map word_of, req_of; /* hash -> index + 1 */
	struct map host_of;         /* name of a node -> index + 1 */
	uint32_t *namesake;         /* next node of its name: index + 1, or 0 */
	struct map array_claims;    /* array -> number of tasks with claims */
	struct arena_list words, features, taints, rules, prefers, wants,
	    avoids, uses;
	struct arena_list claims, guests; /* nodes; users of reservations */
	struct arena_list reqs;           /* in scratch */
	struct taken_rows rows;
	struct judgements judged;
};

/* Allocate a zeroed column, to be written before the snapshot gets it: members
 * of struct snap are const. */
#define COLUMN(type, n) arena_array(b->arena, type, (n) + 1)

/* Append an element to a list of the snapshot. */
static inline void *snapshot_push(struct build *b, struct arena_list *list,
                                  size_t size)
{
	return arena_push(b->arena, list, size);
}

#endif
