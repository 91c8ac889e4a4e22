/* step.h - the socket on which steps of a job are requested */
#ifndef AISCHEDD_OP_STEP_H
#define AISCHEDD_OP_STEP_H

#include "aischedd/daemon.h"

/* Find a job by the text of its id. *ret is NULL if it is not in the state.
 * Fails with EINVAL if the text is no id. */
int step_find(const struct daemon *d, const char *text, const struct job **ret,
              struct err *err);

/* Returns the answer for a job that has started: its number, its node and the
 * socket of its shepherd. Fails with ESHUTDOWN if it is ending, EOPNOTSUPP if
 * its runner takes no steps. */
json_t *step_answer(const struct daemon *d, const struct job *job,
                    struct err *err);

#endif
