/*
 * align.h - how well running tasks are aligned, and which blocks of GPUs are
 * left, for the summary
 *
 * A task is out of line if it has more NUMA nodes than it would need on the
 * empty node, or if its job has GPUs of the node in more link groups than
 * necessary; only jobs that wish or demand otherwise count. A block is 8, 4 or
 * 2 GPUs in one link group and one NUMA node that no job uses.
 */
#ifndef AISIM_ALIGN_H
#define AISIM_ALIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct job;
struct sim;
struct snap_task;
struct placement;

enum { ALIGN_BLOCKS = 3 }; /* blocks of 8, 4 and 2 GPUs */

/* Tasks that are out of line: by NUMA nodes and by links; [0] where the job
 * wishes otherwise, [1] where it demands otherwise, which must not be. */
struct align_tasks {
	int64_t numa[2], links[2];
};

struct align {
	struct align_tasks now;        /* of all running jobs */
	int64_t numa_s[2], links_s[2]; /* the same, times seconds */
	int64_t blocks[ALIGN_BLOCKS];  /* now */
	int64_t blocks_s[ALIGN_BLOCKS], seconds;
	struct align_node *node; /* [nnodes] */
};

void align_init(struct align *align, size_t nnodes);
void align_fini(struct align *align);

/* Returns the NUMA nodes of a task, as bits. */
uint32_t align_numas(struct sim *sim, const struct placement *place,
                     uint32_t task);

/* Whether the placement has what the packed request demands of NUMA nodes and
 * link groups. */
bool align_is_met(struct sim *sim, const char *packed,
                  const struct placement *place);

/* Note that the job has this placement instead of the one before; NULL: none.
 */
void align_note(struct sim *sim, const struct job *job,
                const struct placement *before, const struct placement *after);

/* Count the blocks of all nodes anew, after nodes have come or gone. */
void align_nodes(struct sim *sim);

/* Add what is counted now, times seconds, to the sums. */
void align_advance(struct align *align, int64_t seconds);

/* Print the members of the summary, without braces. */
void align_print(const struct align *align, FILE *out);

#endif
