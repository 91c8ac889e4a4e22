/*
 * snapshot.h - copy the state into a snapshot, the input of the scheduler
 */
#ifndef AISCHEDD_STATE_PASS_SNAPSHOT_H
#define AISCHEDD_STATE_PASS_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct build;
struct job;
struct snap;
struct state;

/* Build a snapshot in the arena. It does not refer to anything in the state
 * that may change. */
const struct snap *state_snapshot(struct state *state, int64_t now,
                                  struct arena *arena);

/*
 * state_snapshot() in three steps, so that a million rows do not hold up the
 * loop. state_take_snapshot() copies everything that may change.
 * snapshot_finish() may run on another thread, or not be called at all. In both
 * cases state_end_snapshot() must be called, after the last thread has stopped
 * reading the struct build and before the arena is freed.
 */
struct build *state_take_snapshot(struct state *state, int64_t now,
                                  struct arena *arena);
const struct snap *snapshot_finish(struct build *taken);
void state_end_snapshot(struct state *state, struct build *taken);

/* Returns a measure of the work to finish the snapshot and plan it: the number
 * of its rows, its nodes and its arrays that have a limit, and a fraction of
 * the number of its waiting jobs. */
size_t snapshot_size(const struct build *taken);

/* Build a snapshot for listings, for which no plan will be made: the last plan
 * stays valid. state_take_peek() is the first of the three steps above. */
const struct snap *state_peek(struct state *state, int64_t now,
                              struct arena *arena);
struct build *state_take_peek(struct state *state, int64_t now,
                              struct arena *arena);

/* --- for this folder ---------------------------------------------------- */

/* Build a snapshot. extra: a pending job that is not in the state, which is
 * added as the last job of its row, or NULL. only: leave out all other pending
 * jobs and all running ones. */
const struct snap *snap_build(struct state *state, int64_t now,
                              struct arena *arena, const struct job *extra,
                              bool only);

/* Like state_take_peek(), but with an extra job, and without computing anew
 * what users have used. */
struct build *snap_take(struct state *state, int64_t now, struct arena *arena,
                        const struct job *extra);

/* Returns the index of the extra job's row in the finished snapshot. */
uint32_t snapshot_row_of_extra(const struct build *taken);

/* Returns what verdict_text() reads of a snapshot, without requests, jobs and
 * reservations. */
struct snap *snap_names(struct state *state, int64_t now, struct arena *arena);

/* Returns a snapshot for verdict_text(): a copy of `names` (of struct
 * last_plan) whose only row, index 0, has this pending job. */
const struct snap *snap_of_job(const struct state *state,
                               const struct snap *names, const struct job *job,
                               struct arena *arena);

/* Returns the index of a word (a feature, a taint or a GPU type) among the
 * words of the snapshot, to which it is added if it is new. build: the
 * struct build. */
int32_t snapshot_word(const char *text, size_t len, void *build);
uint64_t snapshot_word_key(const char *text, size_t len);
/* snapshot_word() for a string; SNAP_NONE if s is NULL or empty. */
uint32_t snapshot_word_or_none(struct build *b, const char *s);

#endif
