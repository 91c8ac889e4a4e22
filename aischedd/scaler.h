/*
 * scaler.h - have nodes added and removed, by programs or stand-ins
 *
 * A program gets the nodes as a hostlist, its only argument. The nodes of all
 * effects of a turn are put together. One program runs for each template at a
 * time, so that a node is not added while it is removed. A program may be run
 * again for the same nodes, because the daemon was restarted or because nodes
 * to be removed are still there.
 *
 * For templates with stand-ins, the runner of the pool is told how many of them
 * are to be there.
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
 * program, and tell runners about stand-ins. Called at the end of each turn
 * that was committed. */
void scaler_go(struct scaler *scaler);

/* Tell runners about all stand-ins again: the configuration has changed. */
void scaler_reconf(struct scaler *scaler);
void scaler_free(struct scaler *scaler);

#endif
