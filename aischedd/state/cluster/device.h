/*
 * device.h - which devices of its node a task gets, besides GPUs
 *
 * If the runner knows devices by name, plans choose those of each task
 * (sched/fit/near.h). If a plan did not, or its choice is no longer to be had
 * because the runner has reported others since, the task gets free ones as near
 * to its GPUs as can be. They are bits in struct placement, and names in the
 * store, because the runner may report others after a restart.
 */
#ifndef AISCHEDD_STATE_CLUSTER_DEVICE_H
#define AISCHEDD_STATE_CLUSTER_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "libcommon/limits.h"

struct device_tasks;
struct job;
struct node;
struct node_info;
struct placement;
struct state;

/* Devices of a node. Bit i of placement.devs[] is the device i. */
struct node_devices {
	/* The first nhere are reported by the runner, in its order. The others
	 * are gone, but tasks had them when the store was read. */
	uint32_t n, nhere;
	char *name[LIMIT_DEVICES];
	/* of those that are here, as the runner reports */
	uint8_t kind[LIMIT_DEVICES], numa[LIMIT_DEVICES];
	uint16_t root[LIMIT_DEVICES];
};

/* Store the devices that the runner of a node reports. */
void devices_seen(struct state *state, uint32_t node,
                  const struct node_info *info);

/* Give each task of a placement its devices. The tasks are not among those that
 * hold nodes yet. Returns the placement, or one that replaces it. */
struct placement *devices_give(struct state *state, const struct job *job,
                               struct placement *place);

/* Between these calls tasks get devices but give none back, so what they hold
 * is counted once, not for each of them. */
void devices_begin(struct state *state);
void devices_end(struct state *state);

/* Returns the bit of the device with this name, which is len bytes long, and
 * adds it to the node unless it is there; 0 if there are too many. */
uint64_t devices_intern(struct node *node, const char *name, size_t len);

void devices_free(struct node_devices *devices);    /* NULL is allowed */
void device_tasks_free(struct device_tasks *tasks); /* likewise */

#endif
