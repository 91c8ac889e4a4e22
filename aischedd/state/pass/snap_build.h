/*
 * snap_build.h - a snapshot while it is built from the state
 *
 * snapshot.c puts the parts together: snap_node.c makes nodes and reservations,
 * snap_req.c requests, snap_job.c running and pending jobs.
 *
 * First, everything that may change is copied. Then the requests of rows are
 * read from the rows' keys, which never change, so another thread may do that.
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_BUILD_H
#define AISCHEDD_STATE_PASS_SNAP_BUILD_H

#include <stddef.h>

#include "aischedd/state/pass/round.h"
#include "aischedd/state/state_priv.h"

struct pend_columns;
struct placed_run;
struct row;

/* Copies of everything that is needed to read the rows later, perhaps on
 * another thread. */
struct taken_rows {
	size_t n;
	const struct row **row; /* all rows; written when they are read */
	/* columns of the rows; elements 0 to n - 1 are written when the
	 * rows are read */
	struct pend_columns *to;
	/* copies of those in struct row_index */
	struct roster all, waiting, limits;
	uint32_t *of_slot; /* as in struct planned_rows */
	/* key of queue and user -> lightness + 1 (usage.h) */
	struct map light;
	struct snap_member extra; /* the extra job, if it belongs in a row */
	uint32_t extra_slot;      /* slot of that row; 0: none */
	/* indexes of the rows of arrays that have a limit */
	struct arena_list limited;
	/* The rows of jobs that have claims, in the order of rows. Each element
	 * says where the row's slice of the list `claims` in struct build ends;
	 * the first slice begins at first_claim. */
	struct row_claim *claimant;
	size_t nclaimants;
	uint32_t first_claim;
};

/* A refusal that has not ended. */
struct build_refusal {
	struct refusal it;
	uint32_t next; /* of the same request: its index plus one; or 0 */
};

struct build {
	const struct state *state; /* NULL once everything was copied */
	/* copies of the jobs that hold nodes, which the snapshot lists from the
	 * last to the first; none if `only` */
	const struct placed_run *held;
	size_t nheld;
	bool only; /* leave out all jobs except one that waits */
	struct arena *arena;
	struct arena *scratch; /* freed when the snapshot is finished */
	struct snap *snap;
	/* hash of a word or of a request -> index + 1 */
	struct map word_of, req_of;
	struct shun_domains *domains; /* NULL: no request shuns nodes */
	struct map host_of;           /* name of a node -> index + 1 */
	/* next node with the same name: index + 1, or 0 */
	uint32_t *namesake;
	/* array -> number of its waiting tasks that have claims */
	struct map array_claims;
	struct map array_of; /* array with a limit -> index in snap.array + 1 */
	const uint64_t *run_array; /* array with a limit of each run, or 0 */
	struct arena_list words, features, taints, rules, prefers, wants,
	    avoids, shuns, besides, uses;
	/* nodes held by claims; users of reservations */
	struct arena_list claims, guests;
	struct arena_list reqs;     /* struct req_row, in scratch */
	struct arena_list refusals; /* struct build_refusal, in scratch */
	struct taken_rows rows;
	struct judgements judged;
};

/* Allocate a zeroed column of n elements and one more. It is written before the
 * snapshot gets it, because members of struct snap are const. */
#define COLUMN(type, n) arena_array(b->arena, type, (n) + 1)

/* Append an element to a list of the snapshot. */
static inline void *snapshot_push(struct build *b, struct arena_list *list,
                                  size_t size)
{
	return arena_push(b->arena, list, size);
}

#endif
