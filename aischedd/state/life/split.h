/*
 * split.h - divide records of arrays
 */
#ifndef AISCHEDD_STATE_LIFE_SPLIT_H
#define AISCHEDD_STATE_LIFE_SPLIT_H

#include <stdint.h>

#include "libcommon/idset.h"

struct job;
struct state;

/* Make a record of the part of an array record that `which` names. Returns the
 * record itself if that is all of it, NULL if it is nothing. */
struct job *state_split(struct state *state, struct job *job,
                        const struct idset *which, int64_t now);

/* Make a record of one task of an array record. The old record is freed if that
 * was its last task. */
struct job *state_split_task(struct state *state, struct job *job,
                             uint32_t task);

#endif
