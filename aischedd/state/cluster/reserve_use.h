/*
 * reserve_use.h - who may use a reservation
 */
#ifndef AISCHEDD_STATE_CLUSTER_RESERVE_USE_H
#define AISCHEDD_STATE_CLUSTER_RESERVE_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/state/life/submit.h"
#include "libcommon/err.h"
#include "libcommon/spec/spec.h"

struct job;
struct state;

/*
 * If the request names a reservation: check that it exists, that the submitter
 * may use it, and that the time limit is no longer than the reservation. Fails
 * with ENOENT, EACCES or EINVAL.
 */
int reserve_check(const struct state *state, const struct spec *spec,
                  const struct submitter *who, int64_t limit, struct err *err);

/* Add the submitter to the guests of the reservation that the request names, if
 * they may use it only as a member of a group. */
void reserve_admit(struct state *state, const struct spec *spec,
                   const struct submitter *who);

/* Whether the job names a reservation that no longer exists: it is over, or
 * was deleted. */
bool reserve_is_gone(const struct state *state, const struct job *job);

#endif
