/*
 * placement.h - where the tasks of a job are, as text for the store
 */
#ifndef AISCHEDD_STATE_PLACEMENT_H
#define AISCHEDD_STATE_PLACEMENT_H

#include "aischedd/state/job.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"

struct state;

/* Append the placement as "NODE:GPUS:MILLI:CPU/MILLI,...", one for each task,
 * separated by ';'. GPUS is a hexadecimal mask. The first MILLI is the part of
 * each GPU that the task holds, in thousandths, the others are parts of CPUs.
 * "@NUMAS" (a mask of NUMA nodes) and "+UNITS" (a mask of slices of a GPU)
 * follow if they are not 0, then "=NAME,NAME", its devices. by_pool: write each
 * NODE as "POOL/NAME", which state_placement_parse() needs if pools have nodes
 * with the same name. */
void state_placement_format(const struct state *state,
                            const struct placement *place, bool by_pool,
                            struct buf *out);

/* Parse a text that state_placement_format() wrote; nodes that the state does
 * not know are added to it, marked as gone. Returns NULL and sets *err to
 * EINVAL if the text is not valid. The caller frees the result with free(). */
struct placement *state_placement_parse(struct state *state, const char *text,
                                        struct err *err);

#endif
