/*
 * split.h - divide records of arrays
 */
#ifndef AISCHEDD_STATE_LIFE_SPLIT_H
#define AISCHEDD_STATE_LIFE_SPLIT_H

#include <stdint.h>

#include "libcommon/idset.h"

struct job;
struct state;

/* Make a record of the tasks `which` of an array record. Returns the record
 * itself if these are all of its tasks, NULL if it has none of them. */
struct job *state_split(struct state *state, struct job *job,
                        const struct idset *which, int64_t now);

/* Make a record of one task of an array record. The old record is freed if that
 * was its last task. */
struct job *state_split_task(struct state *state, struct job *job,
                             uint32_t task);

#endif
