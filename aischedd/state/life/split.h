/*
 * split.h - divide records of arrays
 */
#ifndef AISCHEDD_STATE_LIFE_SPLIT_H
#define AISCHEDD_STATE_LIFE_SPLIT_H

#include <stdint.h>

#include "libcommon/idset.h"

struct job;
struct state;

/* Move the tasks in `which` from an array record to a new record. Returns the
 * new one; the old one if `which` has all of its tasks, or NULL if none. */
struct job *state_split(struct state *state, struct job *job,
                        const struct idset *which, int64_t now);

/* Move one task from an array record to a new record, and return that. If it
 * was the last task, the old record is freed. */
struct job *state_split_task(struct state *state, struct job *job,
                             uint32_t task);

#endif
