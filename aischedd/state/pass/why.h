/*
 * why.h - why a job waits, for people
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
 * Why a job that has not ended waits: the code, and the sentence appended to
 * text, which may be NULL.  *ret_expected: unix seconds or NO_TIME.
 * *ret_position is 0 if the job has none.
 */
enum reason state_why(const struct state *state, const struct job *job,
                      int64_t now, struct buf *text, int64_t *ret_expected,
                      uint32_t *ret_position);

/* How the job's position among those that wait in its queue comes about.
 * Returns false if it does not wait for its turn, or the last plan did not
 * see it. */
bool state_score(const struct state *state, const struct job *job, int64_t now,
                 struct order_score *ret);

#endif
