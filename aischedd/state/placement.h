/*
 * placement.h - where tasks are, as text for the store
 */
#ifndef AISCHEDD_STATE_PLACEMENT_H
#define AISCHEDD_STATE_PLACEMENT_H

#include "aischedd/state/job.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"

struct state;

/* Append NODE:GPUS:MILLI:CPU/MILLI,... for each task, separated by ';'. GPUS is
 * a hexadecimal mask, the first MILLI a fraction of a GPU in thousandths, the
 * others fractions of CPUs. "@NUMAS" and "+UNITS" follow if they are not 0.
 * by_pool: each NODE is "POOL/NAME", which state_placement_parse() needs if
 * pools have nodes with the same name. */
void state_placement_format(const struct state *state,
                            const struct placement *place, bool by_pool,
                            struct buf *out);

/* Parse such a text; nodes that the state does not know are added to it, as
 * gone. Returns NULL with EINVAL. Owns: the caller, free(). */
struct placement *state_placement_parse(struct state *state, const char *text,
                                        struct err *err);

#endif
