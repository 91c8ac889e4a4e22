/*
 * snapshot.h - the scheduler's view of the state
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

/* Build a snapshot in the arena; it refers to nothing that changes. */
const struct snap *state_snapshot(struct state *state, int64_t now,
                                  struct arena *arena);

/*
 * The same in three steps, so that a million rows do not hold up the loop.
 * state_take_snapshot() copies all that may change. snapshot_finish() may be
 * called on another thread, or not at all. Then state_end_snapshot() must be
 * called, when no thread reads the struct build any longer and before the arena
 * is freed.
 */
struct build *state_take_snapshot(struct state *state, int64_t now,
                                  struct arena *arena);
const struct snap *snapshot_finish(struct build *taken);
void state_end_snapshot(struct state *state, struct build *taken);

/* Returns how much work it is to finish and plan the snapshot: the number of
 * its rows and nodes, and a fraction of that of its jobs. */
size_t snapshot_size(const struct build *taken);

/* Build a snapshot for listings, for which no plan is made: the last plan stays
 * in force. state_take_peek() is the first of the three steps. */
const struct snap *state_peek(struct state *state, int64_t now,
                              struct arena *arena);
struct build *state_take_peek(struct state *state, int64_t now,
                              struct arena *arena);

/* --- for this folder ---------------------------------------------------- */

/* Build a snapshot. extra, unless NULL: a pending job that is not in the state,
 * added as the last one of its row. only: leave out all other pending jobs and
 * all running ones. */
const struct snap *snap_build(const struct state *state, int64_t now,
                              struct arena *arena, const struct job *extra,
                              bool only);

/* Like state_take_peek(), but with an extra job, and without a look at what
 * users have used. */
struct build *snap_take(struct state *state, int64_t now, struct arena *arena,
                        const struct job *extra);

/* Returns the row of the extra job in the finished snapshot. */
uint32_t snapshot_row_of_extra(const struct build *taken);

/* Returns a snapshot for verdict_text(): a copy of `names` (see struct
 * last_plan) in which this pending job is the only row, with index 0. */
const struct snap *snap_of_job(const struct state *state,
                               const struct snap *names, const struct job *job,
                               struct arena *arena);

/* Returns the index of a word (a feature, a taint or a GPU type) among the
 * words of the snapshot; adds an unknown one. */
int32_t snapshot_word(const char *text, size_t len, void *build);
/* The same for a string; SNAP_NONE if s is NULL or empty. */
uint32_t snapshot_word_or_none(struct build *b, const char *s);

#endif
