/*
 * why.h - why a job waits, as a sentence
 */
#ifndef AISCHEDD_STATE_PASS_WHY_H
#define AISCHEDD_STATE_PASS_WHY_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/sched/order_score.h"
#include "libcommon/buf.h"
#include "libcommon/names.h"

struct job;
struct state;

/*
 * Returns the reason for which a job that has not ended waits, and appends the
 * sentence to text, which may be NULL. *ret_expected: unix seconds or NO_TIME.
 * *ret_position is 0 if the job has none.
 */
enum reason state_why(const struct state *state, const struct job *job,
                      int64_t now, struct buf *text, int64_t *ret_expected,
                      uint32_t *ret_position);

/* Explain the job's position among the jobs that wait in its queue. Returns
 * false if it does not wait for its turn, or was not in the last plan. */
bool state_score(const struct state *state, const struct job *job, int64_t now,
                 struct order_score *ret);

#endif
