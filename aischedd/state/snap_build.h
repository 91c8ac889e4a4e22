/*
 * snap_build.h - state to snapshot, piece by piece
 *
 * Shared by snapshot.c, which puts the pieces together, and the files that
 * build them: what there is (snap_node.c), what is asked for (snap_req.c), who
 * runs and waits (snap_job.c).
 */
#ifndef AISCHEDD_STATE_SNAP_BUILD_H
#define AISCHEDD_STATE_SNAP_BUILD_H

#include "aischedd/state/state_priv.h"

struct build {
	const struct state *state;
	struct job *placed; /* those that run, as far as they count */
	struct arena *arena;
	struct arena *scratch; /* gone when the snapshot is built */
	struct snap *snap;
	struct map word_of, req_of; /* hash -> index + 1 */
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

/* The number of a word: a feature, a taint, a type of GPUs. */
int32_t snapshot_word(const char *text, size_t len, void *build);
uint32_t snapshot_word_or_none(struct build *b, const char *s);

void snapshot_nodes(struct build *b);
void snapshot_reservations(struct build *b);

/* The number of the request in a row's key, which stays where it is until the
 * snapshot is built; equal ones share one. */
uint32_t snapshot_req(struct build *b, const char *key, uint64_t hash);
uint32_t snapshot_req_of_placed(struct build *b, struct job *job);
uint32_t snapshot_req_of_other(struct build *b, const struct job *job);
void snapshot_reqs(struct build *b); /* when all are known */

void snapshot_run(struct build *b);

/* All rows, then suspended jobs that are to go on, then `extra` if any. */
void snapshot_pend(struct build *b, const struct job *extra, bool only);

#endif
