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
 * The attempt has no processes left. If the job was stopped, the cause decides
 * what comes next; else `to` and `why`, which say how it ended.
 */
void life_settle(struct state *state, struct job *job, enum job_state to,
                 enum reason why, int64_t now);

void job_end(struct state *state, struct job *job, enum job_state to,
             enum reason why, int64_t now);

#endif
