/*
 * lifecycle_start.h - a job gets nodes, starts, or fails to
 */
#ifndef AISCHEDD_STATE_LIFE_LIFECYCLE_START_H
#define AISCHEDD_STATE_LIFE_LIFECYCLE_START_H

#include "aischedd/state/life/lifecycle.h"

life_handler life_start, life_started, life_start_failed, life_start_again;

/* life_place() gives the job these nodes, life_unplace() takes all of its nodes
 * from it. */
void life_place(struct state *state, struct job *job, const struct placement *p,
                int64_t now);
/* Note in the request of a job that takes whole nodes how much it holds. */
void life_count_nodes(struct state *state, struct job *job);
void life_unplace(struct state *state, struct job *job, int64_t now);

#endif
