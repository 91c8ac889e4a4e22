/*
 * submit_check.h - check whether a request is allowed and can ever run
 *
 * Updates of jobs are checked by the same functions. A check that fails says
 * why in *err.
 */
#ifndef AISCHEDD_STATE_LIFE_SUBMIT_CHECK_H
#define AISCHEDD_STATE_LIFE_SUBMIT_CHECK_H

#include <stdint.h>

#include "aischedd/state/life/submit.h"
#include "libcommon/err.h"

/*
 * Check everything about a request, and change nothing. *ret_queue: the queue
 * that the job would join. *ahead: the number of jobs of the same message that
 * were checked before and are not submitted yet; this function adds the jobs of
 * this request. Fails with EINVAL (the request can never run, or contradicts
 * itself), EACCES (the user may not use the queue or the class), EPERM (only
 * operators may ask for this), ENOENT (no such queue, pool, or job of a
 * dependency), EAGAIN (too many jobs, queue closed).
 */
int state_check_submit(struct state *state, const struct spec *spec,
                       const struct submitter *who, int64_t now,
                       uint64_t *ahead, uint32_t *ret_queue, struct err *err);

/*
 * For simulations: check only that the request makes sense under this
 * configuration. Does not check whether the job could ever start, whether the
 * queue is full, or whether the user may use it. Fails with EINVAL, EPERM or
 * ENOENT.
 */
int state_check_request(struct state *state, const struct spec *spec,
                        const struct submitter *who, int64_t now,
                        uint32_t *ret_queue, struct err *err);

/* --- for this folder ---------------------------------------------------- */

/* Get the queue that a request names, or the default queue. Fails with ENOENT
 * if there is no such queue, or EINVAL if there is no default or the queue has
 * queues below it. */
int submit_queue(const struct state *state, const struct spec *spec,
                 uint32_t *ret, struct err *err);

/* Check that the submitter may use the queue and all queues above it, and that
 * none of them is closed. */
int submit_check_access(const struct state *state, uint32_t queue,
                        const struct submitter *who, struct err *err);
/* Check that the queue allows the class, and that the submitter may
 * use the class. */
int submit_check_class(const struct state *state, const struct spec *spec,
                       uint32_t queue, const struct submitter *who,
                       struct err *err);
/* Check that max_jobs, max_user_jobs and the limits of the queue and the queues
 * above it allow `more` additional jobs. */
int submit_check_counts(struct state *state, uint32_t queue,
                        const struct submitter *who, uint64_t more,
                        struct err *err);
/* Check that the limits of this queue, and of the queues above it, allow that
 * the job moves there from its queue. */
int submit_check_move(const struct state *state, const struct job *job,
                      uint32_t queue, struct err *err);
int submit_check_priority(const struct state *state, const struct spec *spec,
                          uint32_t queue, const struct submitter *who,
                          struct err *err);

/* Check the grace that the request asks for: only an operator may ask for a
 * longer one than the queue's. */
int submit_check_grace(const struct state *state, const struct spec *spec,
                       uint32_t queue, const struct submitter *who,
                       struct err *err);

/* Returns the grace in seconds of jobs in this queue that do not ask
 * for one. */
int64_t submit_grace(const struct state *state, uint32_t queue);

/* Get the time limit of a request, or the default of its queue. Fails with
 * EINVAL if the queue does not allow so long a limit. */
int submit_time_limit(const struct state *state, const struct spec *spec,
                      uint32_t queue, int64_t *ret, struct err *err);

/* Check whether the request makes sense and can ever start. */
int submit_check_spec(struct state *state, const struct spec *spec,
                      const struct submitter *who, uint32_t queue, int64_t now,
                      struct err *err);

#endif
