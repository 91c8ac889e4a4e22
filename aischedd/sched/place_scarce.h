/*
 * place_scarce.h - how much other jobs need the GPUs of a node
 *
 * Nodes are of one kind if no constraint, GPU type or taint in the snapshot
 * distinguishes them, whatever their size. Assume that future jobs ask for what
 * running and waiting jobs ask for, and that each spreads over the free GPUs
 * that it may use. Then the pressure on a kind is the number of GPUs asked for,
 * divided by the number that are free there. It is high where many jobs need a
 * scarce type, and low where all jobs could go elsewhere.
 */
#ifndef AISCHEDD_SCHED_PLACE_SCARCE_H
#define AISCHEDD_SCHED_PLACE_SCARCE_H

#include "aischedd/sched/place_index.h"

struct place_scarce;

/* gpus: by request, the GPUs that running jobs hold. Returns NULL if all jobs
 * with GPUs can use the same nodes. */
struct place_scarce *place_scarce_new(const struct snap *snap,
                                      struct match *match,
                                      const struct place_index *index,
                                      const int64_t *gpus, struct arena *arena);

uint32_t place_scarce_nkinds(const struct place_scarce *scarce);
uint32_t place_scarce_kind(const struct place_scarce *scarce, uint32_t class);

/* Returns the present pressure on the kind, in thousandths. */
int64_t place_scarce_pressure(struct place_scarce *scarce, uint32_t kind);

#endif
