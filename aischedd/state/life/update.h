/*
 * update.h - change fields of a job
 */
#ifndef AISCHEDD_STATE_LIFE_UPDATE_H
#define AISCHEDD_STATE_LIFE_UPDATE_H

#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/life/submit.h"
#include "libcommon/err.h"

/* Raise the priority of a pending job so far that it is ahead of all other jobs
 * that wait in its queue, however long they wait, unless they become overdue
 * (order_score.h). Fails with EINVAL if the job is not pending. */
int state_top(struct state *state, struct job *job, struct err *err);

struct assignment {
	const char *field, *value;
};

/*
 * Change fields of a job; if one of them cannot be changed, none is. A field is
 * a long option of aisub ('_' for '-' is allowed), or array_limit. An empty
 * value unsets the option. After the job has started, options that affect what
 * the job holds cannot be changed. The job's record may be freed.
 * Fails with EINVAL, EPERM or ENOENT.
 */
int state_update(struct state *state, struct job *job,
                 const struct submitter *who, const struct assignment *set,
                 size_t n, int64_t now, struct err *err);

/*
 * Replace the request of a pending job that was adopted, because its Job in the
 * cluster was changed, and tell the runner. The job's record may be freed.
 * Fails with EINVAL, EPERM or ENOENT.
 */
int state_reread(struct state *state, struct job *job,
                 const struct submitter *who, const struct spec *spec,
                 int64_t now, struct err *err);

#endif
