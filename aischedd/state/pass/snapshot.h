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
 * The same in three steps, so that a million rows do not hold up the loop. The
 * first takes all that may change. The second may be done by another thread
 * meanwhile, or be left out. The third comes when nobody reads any longer what
 * was taken, and before the arena is freed.
 */
struct build *state_take_snapshot(struct state *state, int64_t now,
                                  struct arena *arena);
const struct snap *snapshot_finish(struct build *taken);
void state_end_snapshot(struct state *state, struct build *taken);

/* Returns how much work the snapshot is: its rows and nodes, and some more for
 * its jobs. */
size_t snapshot_size(const struct build *taken);

/* Build a snapshot for listings: the last plan stays in force.
 * state_take_peek() is the first of the three steps. */
const struct snap *state_peek(struct state *state, int64_t now,
                              struct arena *arena);
struct build *state_take_peek(struct state *state, int64_t now,
                              struct arena *arena);

/* --- for this folder ---------------------------------------------------- */

/* Build a snapshot with one more pending job, extra (unless NULL), as the last
 * of its row; only: leave out all running and other pending jobs. */
const struct snap *snap_build(const struct state *state, int64_t now,
                              struct arena *arena, const struct job *extra,
                              bool only);

/* The first of three steps of snap_build(), with the extra job; as
 * state_take_peek(). */
struct build *snap_take(struct state *state, int64_t now, struct arena *arena,
                        const struct job *extra);

/* Returns the row of the extra job in the finished snapshot. */
uint32_t snapshot_row_of_extra(const struct build *taken);

/* Returns the names of a snapshot, with this pending job as the only row:
 * enough for verdict_text(). */
const struct snap *snap_of_job(const struct state *state,
                               const struct snap *names, const struct job *job,
                               struct arena *arena);

/* Returns the index of a word: a feature, a taint, a GPU type. */
int32_t snapshot_word(const char *text, size_t len, void *build);
uint32_t snapshot_word_or_none(struct build *b, const char *s);

#endif
