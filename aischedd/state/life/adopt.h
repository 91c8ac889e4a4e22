/*
 * adopt.h - adopted jobs: Jobs that were made in a cluster, not with aisub
 */
#ifndef AISCHEDD_STATE_LIFE_ADOPT_H
#define AISCHEDD_STATE_LIFE_ADOPT_H

#include <stdint.h>

struct job;
struct state;

/* Returns a uid for a user of a cluster who has no account on this machine.
 * It is computed from the name, and lies above all uids that accounts
 * usually have. */
uint32_t state_foreign_uid(const struct state *state, const char *name);

/* Leave EFFECT_ADOPT, which tells the runner of an adopted job the
 * job's state. */
void adopt_tell(struct state *state, const struct job *job);

#endif
