/*
 * devices.h - find the devices of this machine besides GPUs
 */
#ifndef AISCHEDD_RUN_LOCAL_DEVICES_H
#define AISCHEDD_RUN_LOCAL_DEVICES_H

#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/run/shepherd/order.h"
#include "libcommon/conf/conf.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

struct devices {
	uint32_t n;
	/* by kind, in the order of the configuration, and there by name */
	struct order_device dev[LIMIT_DEVICES];
	struct run_device told[LIMIT_DEVICES]; /* for the daemon */
	uint8_t kinds; /* bit i is set if kind i is found by `path` */
	/* what is wrong with the devices, for the admin; or NULL */
	const char *note;
};

/*
 * Find the device files that the patterns of the n kinds match. If several
 * names stand for the same device, it is found once, by the first. Does not
 * fail: what cannot be given to jobs is left out, and noted.
 */
void devices_find(struct devices *ret, const struct conf_device *conf, size_t n,
                  struct arena *arena);

/* Set the node's members about devices. */
void devices_tell(const struct devices *devices, struct node_info *node);

/* Put the devices into an order. */
void devices_order(const struct devices *devices, struct order *order);

#endif
