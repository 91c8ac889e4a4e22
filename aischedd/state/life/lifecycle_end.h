/*
 * lifecycle_end.h - the end of an attempt: the job ends or waits again
 */
#ifndef AISCHEDD_STATE_LIFE_LIFECYCLE_END_H
#define AISCHEDD_STATE_LIFE_LIFECYCLE_END_H

#include "aischedd/state/life/lifecycle.h"

life_handler life_ended, life_lost;

void life_stop_clock(struct job *job, int64_t now);

/* Set the remark for the job's user; NULL or empty: none. */
void life_set_text(struct job *job, const char *text);

void life_back_to_queue(struct state *state, struct job *job, int64_t now);

/*
 * End or requeue the job, as the last process of its attempt has ended. If the
 * daemon stopped it, its cause says which; otherwise the job ends in the state
 * `to`, for the reason `why`.
 */
void life_settle(struct state *state, struct job *job, enum job_state to,
                 enum reason why, int64_t now);

void job_end(struct state *state, struct job *job, enum job_state to,
             enum reason why, int64_t now);

#endif
