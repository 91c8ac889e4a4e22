/*
 * adopt.h - jobs that others made as Jobs of a cluster
 */
#ifndef AISCHEDD_STATE_LIFE_ADOPT_H
#define AISCHEDD_STATE_LIFE_ADOPT_H

#include <stdint.h>

struct job;
struct state;

/* Returns a uid for a user of a cluster, who has no account here: derived from
 * the name, in a range that no system gives out. */
uint32_t state_foreign_uid(const struct state *state, const char *name);

/* Leave an effect that tells the job's runner its state. */
void adopt_tell(struct state *state, const struct job *job);

#endif
