/*
 * split.h - records of arrays that are divided
 */
#ifndef AISCHEDD_STATE_LIFE_SPLIT_H
#define AISCHEDD_STATE_LIFE_SPLIT_H

#include <stdint.h>

#include "libcommon/idset.h"

struct job;
struct state;

/* Make the part of an array record that `which` names a record of its own.
 * Returns the record itself if that is all of it, NULL if it is nothing. */
struct job *state_split(struct state *state, struct job *job,
                        const struct idset *which, int64_t now);

/* Make one task of an array record a record of its own.  The old record is
 * gone if that was its last task. */
struct job *state_split_task(struct state *state, struct job *job,
                             uint32_t task);

#endif
