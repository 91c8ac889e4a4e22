/*
 * listing_devices.h - the devices of a job, in words
 */
#ifndef AISCHEDD_READ_LISTING_DEVICES_H
#define AISCHEDD_READ_LISTING_DEVICES_H

#include <stdbool.h>

#include "aischedd/state/placement.h"
#include "libcommon/buf.h"

/*
 * Append "n3: GPU 4-7 (NUMA 1, links 1), 32 CPUs (NUMA 1); n4: ...": the
 * devices that the runner binds, on nodes with GPUs or several NUMA nodes,
 * where there was a choice. Returns false if there are none.
 */
bool listing_devices(const struct state *state, const struct placement *place,
                     struct buf *out);

#endif
