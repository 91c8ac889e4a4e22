/*
 * split.h - divide the record of an array's unstarted tasks
 */
#ifndef AISCHEDD_STATE_LIFE_SPLIT_H
#define AISCHEDD_STATE_LIFE_SPLIT_H

#include <stdint.h>

#include "libcommon/idset.h"

struct job;
struct state;

/* Move the tasks in `which` from the record of an array's unstarted tasks to a
 * new record. Returns the new record; the old one if `which` has all of its
 * tasks; NULL if it has none of them. */
struct job *state_split(struct state *state, struct job *job,
                        const struct idset *which, int64_t now);

/* Move one task from the record of an array's unstarted tasks to a new record,
 * and return the new one. If it was the last task, the old record is freed. */
struct job *state_split_task(struct state *state, struct job *job,
                             uint32_t task);

#endif
