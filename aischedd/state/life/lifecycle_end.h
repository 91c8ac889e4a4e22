/*
 * lifecycle_end.h - the end of an attempt: the job ends or waits again
 */
#ifndef AISCHEDD_STATE_LIFE_LIFECYCLE_END_H
#define AISCHEDD_STATE_LIFE_LIFECYCLE_END_H

#include "aischedd/state/life/lifecycle.h"

life_handler life_ended, life_lost;

/* Add the time since `resumed` to the job's run time, and set `resumed` to
 * NO_TIME. */
void life_stop_clock(struct job *job, int64_t now);

/* Set the remark for the job's user; NULL or empty: none. */
void life_set_text(struct job *job, const char *text);

/* Whether the job ends when it is preempted, instead of being requeued. */
bool life_ends_preempted(const struct job *job);

/* Make the job pending again after its attempt: frees its nodes, and puts it
 * back in its queue. */
void life_back_to_queue(struct state *state, struct job *job, int64_t now);

/*
 * End or requeue the job, because its attempt is over. If job->cause is set
 * (the daemon stopped the job, or decided to requeue it), that decides what
 * happens. Otherwise the job ends in the state `to`, for the reason `why`.
 */
void life_settle(struct state *state, struct job *job, enum job_state to,
                 enum reason why, int64_t now);

/* End the job in the state `to`: frees its nodes, and tells the jobs that
 * depend on it. */
void job_end(struct state *state, struct job *job, enum job_state to,
             enum reason why, int64_t now);

#endif
