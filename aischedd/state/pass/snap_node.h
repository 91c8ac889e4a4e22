/*
 * snap_node.h - nodes and reservations in a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_SNAP_NODE_H
#define AISCHEDD_STATE_PASS_SNAP_NODE_H

#include <stdint.h>

#include "aischedd/state/pass/snap_build.h"

void snapshot_nodes(struct build *b);
void snapshot_reservations(struct build *b);

/* Copy names and times of the reservations, for the verdicts of a plan: those
 * of the state may change later. */
void snap_keep_reservations(struct snap *to, const struct snap *from,
                            struct arena *arena);
uint8_t node_status(const struct node *node); /* enum node_state */

#endif
