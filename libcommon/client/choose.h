/*
 * choose.h - choose the shape of a job, if its request allows several
 *
 * "-N 2-4" allows any of these numbers of nodes, and "-C '[a|b]'" nodes that
 * all have a or all have b. A job in the daemon has one number and one
 * expression. So the client asks the daemon when the job would start with each
 * of the choices, and submits the one that starts first; of those that start at
 * the same time, the one with the most nodes. If no start is known for any
 * choice, it submits the one with the fewest nodes.
 */
#ifndef LIBCOMMON_CLIENT_CHOOSE_H
#define LIBCOMMON_CLIENT_CHOOSE_H

#include <jansson.h>

#include "libcommon/err.h"
#include "libcommon/spec/spec_opt.h"

/* Ask the daemon when this job would start. Returns its answer, or NULL if it
 * refused the job. */
typedef json_t *choose_try_fn(const struct submit *submit, void *arg,
                              struct err *err);

bool choose_needed(const struct submit *submit);

/* Choose the number of nodes and the constraint, and set them in submit. If all
 * choices are refused, fails with the error of the last one. */
int choose_shape(struct submit *submit, choose_try_fn *try, void *arg,
                 struct err *err);

/* Returns when a job would start according to the daemon's answer: unix
 * seconds, 0 if at once, INT64_MAX if that is not known. */
int64_t choose_start(const json_t *answer);

#endif
