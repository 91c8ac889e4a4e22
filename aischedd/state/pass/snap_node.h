/*
 * snap_node.h - copy nodes and reservations into a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_NODE_H
#define AISCHEDD_STATE_PASS_SNAP_NODE_H

#include <stdint.h>

#include "aischedd/state/pass/snap_build.h"

/* Copy all about nodes but what is free on them; snapshot_left() copies that,
 * and must be called after it. */
void snapshot_nodes(struct state *state, struct build *b);
void snapshot_left(const struct state *state, struct build *b);
/* Free the columns of nodes that snapshots share. Call it whenever a node is
 * added, or its node_frame_key() changes. */
void node_frame_drop(struct node_table *nodes);
/* Returns a hash of all that these columns have of a node. It says nothing of a
 * node whose NUMA nodes its kubelet shows: these depend on jobs. */
uint64_t node_frame_key(const struct node *node);
/* Subtract what a job that holds nodes has there from what is free in these
 * columns; add it again, whatever has become of the job since. */
void node_frame_take(struct node_table *nodes, struct placed_run *run);
void node_frame_give(struct node_table *nodes, struct placed_run *run);
void snapshot_reservations(struct build *b);

/* Copy the names and times of the reservations, to which the verdicts of a plan
 * refer: the state's reservations may change later. */
void snap_keep_reservations(struct snap *to, const struct snap *from,
                            struct arena *arena);
uint8_t node_status(const struct node *node); /* returns an enum node_state */

#endif
