/*
 * placement.h - where tasks are, as text for the store
 */
#ifndef AISCHEDD_STATE_PLACEMENT_H
#define AISCHEDD_STATE_PLACEMENT_H

#include "aischedd/state/job.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"

struct state;

/* Format NODE:GPUS:MILLI:CPU/MILLI,... joined by ';', one for each task; GPUS
 * is a hexadecimal mask. by_pool: each NODE is "POOL/NAME", which
 * state_placement_parse() needs if pools have nodes with the same name. */
void state_placement_format(const struct state *state,
                            const struct placement *place, bool by_pool,
                            struct buf *out);

/* Parse such a text; unknown nodes are added, as gone. Returns NULL with
 * EINVAL. */
struct placement *state_placement_parse(struct state *state, const char *text,
                                        struct err *err);

#endif
