/*
 * lifecycle_start.h - a job gets nodes, starts, or fails to start
 */
#ifndef AISCHEDD_STATE_LIFE_LIFECYCLE_START_H
#define AISCHEDD_STATE_LIFE_LIFECYCLE_START_H

#include "aischedd/state/life/lifecycle.h"

life_handler life_start, life_started, life_start_failed, life_start_again;

/* Note in which namespace the runner has found the attempt, if the job does not
 * say so. space may be NULL. */
void life_found_in(struct state *state, struct job *job, const char *space);

/* For a job that takes whole nodes: store in its request how many CPUs and how
 * much memory its nodes have. */
void life_count_nodes(struct state *state, struct job *job);
/* Take all nodes from the job, if it has any. */
void life_unplace(struct state *state, struct job *job, int64_t now);

#endif
