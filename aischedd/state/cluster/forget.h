/*
 * forget.h - nodes that are gone for good
 *
 * An autoscaler adds nodes under ever new names. A node that its pool no longer
 * lists is forgotten before the next pass, and its row in the store is deleted,
 * unless something refers to it: a job or a claim of one, a reservation, an
 * operator who drained it, a template, a section of the configuration. History
 * and accounting have the names of nodes as text.
 *
 * Its index in the table of nodes is used for another node later: when the
 * store has deleted the row, and no plan refers to it.
 */
#ifndef AISCHEDD_STATE_CLUSTER_FORGET_H
#define AISCHEDD_STATE_CLUSTER_FORGET_H

#include <stdint.h>

struct state;

/* Forget nodes. Call it only while no pass runs: plans have indexes. */
void nodes_forget(struct state *state, int64_t now);

#endif
