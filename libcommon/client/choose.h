/*
 * choose.h - requests that leave something to choose, when they are submitted
 *
 * "-N 2-4" takes any of these numbers of nodes, and "-C '[a|b]'" nodes that all
 * have a, or all have b. The daemon knows one number and one expression: the
 * client asks it when the job would start with each of the choices, and submits
 * the one that starts first; of those that would start at the same time, the
 * one with most nodes. If nobody knows when, it is the one with fewest.
 */
#ifndef LIBCOMMON_CLIENT_CHOOSE_H
#define LIBCOMMON_CLIENT_CHOOSE_H

#include <jansson.h>

#include "libcommon/err.h"
#include "libcommon/spec/spec_opt.h"

/* Ask when this job would start. Returns the daemon's answer; NULL: refused. */
typedef json_t *choose_try_fn(const struct submit *submit, void *arg,
                              struct err *err);

bool choose_needed(const struct submit *submit);

/* Settle the number of nodes and the constraint; fails as the last choice did
 * if all are refused. */
int choose_shape(struct submit *submit, choose_try_fn *try, void *arg,
                 struct err *err);

/* Returns when a job would start, as the answer to a test says: 0 is at once,
 * INT64_MAX nobody knows. */
int64_t choose_start(const json_t *answer);

#endif
