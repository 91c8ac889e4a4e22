/* listing_devices.h - the devices of a job, as text */
#ifndef AISCHEDD_READ_LISTING_DEVICES_H
#define AISCHEDD_READ_LISTING_DEVICES_H

#include <stdbool.h>

#include "aischedd/state/placement.h"
#include "libcommon/buf.h"

/*
 * Append the devices that the runner binds to the job, as "n3: GPU 4-7 (NUMA 1,
 * links 1), 32 CPUs (NUMA 1), rdma /dev/r0; n4: ...". If the node's kubelet
 * chooses them and refuses what does not fit, append what it is expected to
 * choose, as "n5: 2 GPUs, 8 CPUs (NUMA 1, predicted)". A node with only one
 * NUMA node of which the job has no devices is left out: the runner had no
 * choice on it. type: the type of GPUs that the job asks for, or NULL. Returns
 * false if nothing was appended.
 */
bool listing_devices(const struct state *state, const struct placement *place,
                     const char *type, struct buf *out);

/* Set *numas if a task has devices of several NUMA nodes, and *links if the job
 * has GPUs of several link groups on a node. */
void listing_apart(const struct state *state, const struct placement *place,
                   bool *numas, bool *links);

#endif
