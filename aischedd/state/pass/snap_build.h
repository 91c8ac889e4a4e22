/*
 * snap_build.h - state to snapshot, piece by piece
 *
 * snapshot.c puts together what others build: what there is (snap_node.c), what
 * is asked for (snap_req.c), what runs and waits (snap_job.c).
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_BUILD_H
#define AISCHEDD_STATE_PASS_SNAP_BUILD_H

#include <stddef.h>

#include "aischedd/state/state_priv.h"

struct build {
	const struct state *state;
	struct job *placed; /* those that run, as far as they count */
	struct arena *arena;
	struct arena *scratch; /* gone when the snapshot is built */
	struct snap *snap;
	struct map word_of, req_of; /* hash -> index + 1 */
	struct map array_claims;    /* array -> tasks that have claims */
	struct arena_list words, features, taints, rules, wants, avoids, uses;
	struct arena_list claims, guests; /* users of reservations */
	struct arena_list reqs;           /* in scratch */
};

/* Columns are written through these: the snapshot's own are const. */
#define COLUMN(type, n) arena_array(b->arena, type, (n) + 1)

/* Room for one more in a list of the snapshot. */
static inline void *snapshot_push(struct build *b, struct arena_list *list,
                                  size_t size)
{
	return arena_push(b->arena, list, size);
}

#endif
