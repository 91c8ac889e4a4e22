/*
 * why.h - why a job waits or ended, as a sentence
 */
#ifndef AISCHEDD_STATE_PASS_WHY_H
#define AISCHEDD_STATE_PASS_WHY_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/sched/order_score.h"
#include "aischedd/sched/verdict.h"
#include "libcommon/buf.h"
#include "libcommon/names.h"

struct job;
struct state;

/*
 * Returns the reason why a job waits or ended, and appends a sentence about it
 * to `text`, which may be NULL. *ret_expected: the job's expected start in unix
 * seconds, or NO_TIME. *ret_position: its position in its queue; 0: none.
 */
enum reason state_why(const struct state *state, const struct job *job,
                      int64_t now, struct buf *text, int64_t *ret_expected,
                      uint32_t *ret_position);

/* As verdict_text(), but name the other job as users do: 12_3, not the number
 * of that task; and say what the runner or an operator said about nodes. */
void why_verdict_text(const struct state *state, const struct snap *snap,
                      uint32_t row, const struct verdict *v, struct buf *text);

/* Compute the score of a job: the points by which the waiting jobs of a
 * queue are ordered. Returns false if the job is in no row, or if there is
 * no plan yet. */
bool state_score(const struct state *state, const struct job *job, int64_t now,
                 struct order_score *ret);

#endif
