/*
 * requeue.h - requeue an ended job under its id
 */
#ifndef AISCHEDD_STATE_LIFE_REQUEUE_H
#define AISCHEDD_STATE_LIFE_REQUEUE_H

#include "aischedd/state/life/submit.h"
#include "aischedd/state/state.h"

/* An ended job, as the store has it. The caller owns everything. */
struct requeue {
	const struct job *job;
	const char *user, *queue;
	/* Whether another task of the job's array failed. This function reads
	 * all tasks from the store, so it is called only if the array is no
	 * longer in memory. */
	bool (*others_failed)(uint64_t array, uint64_t job, void *arg);
	void *arg;
	/* The user who asks for the requeue. If the job is their own,
	 * requeue_ended() checks that they may still use its queue
	 * and class. */
	const struct submitter *who;
};

/*
 * Make the job pending again with its script, environment and options, without
 * its --begin, --dependency and --hold. Fails with ENOENT if its queue is gone;
 * EACCES or EAGAIN like a submission; EPERM if it has --no-requeue; EINVAL if
 * it can never run here, if its deadline has passed, if it is the unstarted
 * part of an array, or if it was adopted (adopt.h).
 */
int requeue_ended(struct state *state, const struct requeue *what, int64_t now,
                  struct err *err);

#endif
