/*
 * blocks.h - whether GPUs can be taken from a node without breaking up
 * blocks of linked GPUs
 *
 * A cell is the GPUs of a node that are in one link group and in one NUMA node;
 * a block is 8, 4 or 2 free GPUs of a cell (fit_devices.h). The harm of taking
 * GPUs from one cell is a number: 4 if a block of 8 is broken up, plus 2 for
 * one of 4, plus 1 for one of 2. For each number of GPUs a node has one harm,
 * the least of its cells that have as many. A node with one cell, where the
 * order of the pool keeps GPUs together, does no harm.
 */
#ifndef AISCHEDD_SCHED_FIT_BLOCKS_H
#define AISCHEDD_SCHED_FIT_BLOCKS_H

#include "aischedd/sched/work.h"

enum {
	FIT_BLOCKS_GPUS = 8,   /* the most GPUs that have a harm */
	FIT_BLOCKS_NO_CELL = 8 /* the harm if no cell has as many GPUs */
};

struct fit_blocks;

/* Returns NULL if each node has one cell at most. */
struct fit_blocks *fit_blocks_new(const struct work *w, struct arena *arena);

/* Set ret[n - 1] to the harm of taking n GPUs from the node, as a bit:
 * 1 << harm. */
void fit_blocks_read(const struct fit_blocks *b, uint32_t node,
                     uint16_t ret[FIT_BLOCKS_GPUS]);

#endif
