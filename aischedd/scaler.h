/*
 * scaler.h - run the programs that add and remove nodes
 *
 * A program gets the nodes as a hostlist, its only argument. The nodes of all
 * effects of a turn are put together. One program runs for each template at a
 * time, so that a node is not added while it is removed. A program may be run
 * again for the same nodes, because the daemon was restarted or because nodes
 * to be removed are still there.
 */
#ifndef AISCHEDD_SCALER_H
#define AISCHEDD_SCALER_H

#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct scaler;

struct scaler *scaler_new(struct daemon *d);

/* Note that a node is to be added or, if add is false, removed. */
void scaler_want(struct scaler *scaler, uint32_t node, bool add);

/* Start a program for the noted nodes of each template that has no running
 * program. Called at the end of each turn. */
void scaler_go(struct scaler *scaler);
void scaler_free(struct scaler *scaler);

#endif
