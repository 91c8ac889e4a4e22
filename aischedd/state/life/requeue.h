/*
 * requeue.h - a job that has ended is queued again, under its id
 */
#ifndef AISCHEDD_STATE_LIFE_REQUEUE_H
#define AISCHEDD_STATE_LIFE_REQUEUE_H

#include "aischedd/state/life/submit.h"
#include "aischedd/state/state.h"

/* A job as the store has it; all of it is borrowed. */
struct requeue {
	const struct job *job;
	const char *user, *queue;
	/* Whether a task of its array that is not in the state failed. */
	bool others_failed;
	/* Who asks: their groups count when the job is their own. */
	const struct submitter *who;
};

/*
 * Make the job a pending one with the script, environment and options that it
 * had.  It does not wait for its --begin, --dependency or --hold again.
 * Fails: ENOENT its queue is gone, EACCES or EAGAIN as a submission, EPERM
 * --no-requeue, EINVAL it can never run here, its deadline has passed, it is a
 * part of an array that never started, or somebody else's Job of a cluster.
 */
int requeue_ended(struct state *state, const struct requeue *what, int64_t now,
                  struct err *err);

#endif
