/* step.h - find a job, and the socket on which its steps are requested */
#ifndef AISCHEDD_OP_STEP_H
#define AISCHEDD_OP_STEP_H

#include "aischedd/daemon.h"

/* Find a job by its id as text. *ret becomes NULL if the state has no such job.
 * Fails with EINVAL if the text is not an id. */
int step_find(const struct daemon *d, const char *text, const struct job **ret,
              struct err *err);

/* Returns the answer to a request for steps in a job that has started: the
 * job's number, its node and its shepherd's socket. Fails with ESHUTDOWN if the
 * job is ending, EOPNOTSUPP if its runner takes no steps. */
json_t *step_answer(const struct daemon *d, const struct job *job,
                    struct err *err);

#endif
