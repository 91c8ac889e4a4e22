/*
 * alloc.h - allocations: jobs without a script, whose clients wait for them
 */
#ifndef AISCHEDD_OP_ALLOC_H
#define AISCHEDD_OP_ALLOC_H

#include "aischedd/daemon.h"

/* Watch over allocations that were waiting when the previous daemon ended. Call
 * this after the state was loaded. */
void daemon_new_allocs(struct daemon *d);
void daemon_free_allocs(struct daemon *d);

/* A job with ALLOCATION_HELD was submitted: cancel it after a while unless its
 * client asks for it. */
void daemon_add_alloc(struct daemon *d, uint64_t job);

/* Answer clients whose jobs have started or ended, and cancel jobs whose
 * clients have disconnected. Call it in the tell step. */
void daemon_check_allocs(struct daemon *d);

#endif
