/*
 * devices.h - find the devices of this machine besides GPUs
 */
#ifndef AISCHEDD_RUN_LOCAL_DEVICES_H
#define AISCHEDD_RUN_LOCAL_DEVICES_H

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/deny.h"
#include "aischedd/run/runner.h"
#include "aischedd/run/shepherd/order.h"
#include "libcommon/conf/conf.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

/* most major numbers of device files: as many as jobs can be denied, besides
 * those of GPUs */
enum { DEVICES_MAJORS = DENY_LISTS - 2 };

struct devices {
	uint32_t n;
	/* by kind, in the order of the configuration */
	struct order_device dev[LIMIT_DEVICES];
	struct run_device told[LIMIT_DEVICES];   /* for the daemon */
	uint32_t nmajors, major[DEVICES_MAJORS]; /* of their files */
	/* bit i is set if the configuration says how kind i is found */
	uint8_t kinds;
	/* what is wrong with the devices, for the admin; or NULL */
	const char *note;
};

/*
 * Find the devices of these n kinds: on the PCI bus, in the order of
 * hwloc, or by their files, in the order of their names. If several names stand
 * for the same device, it is found once, by the first. Does not fail: what
 * cannot be given to jobs is left out, and noted.
 */
void devices_find(struct devices *ret, const struct conf_device *kind, size_t n,
                  hwloc_topology_t topo, struct arena *arena);

/* Whether a file is known of each device. */
bool devices_know_files(const struct devices *devices);

/* Set the node's members about devices. */
void devices_tell(const struct devices *devices, struct node_info *node);

/* Put the devices into an order. */
void devices_order(const struct devices *devices, struct order *order);

#endif
