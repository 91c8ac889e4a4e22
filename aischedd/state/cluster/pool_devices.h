/*
 * pool_devices.h - whether a pool gives devices where a request wants them
 *
 * In a cluster, --device NAME:pcie and NAME:numa are possible only where claims
 * give both GPUs and these devices, and drivers tell where these are.
 */
#ifndef AISCHEDD_STATE_CLUSTER_POOL_DEVICES_H
#define AISCHEDD_STATE_CLUSTER_POOL_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/spec/devices.h"

struct err;
struct node;
struct spec;
struct state;

/* Facts about places on a node whose GPUs the plan chooses. A pool counts
 * its nodes of each. For the first three, the kind of devices is added. */
enum node_knows {
	KNOWS_ROOT = 0,                    /* PCIe roots of its devices */
	KNOWS_NUMA = DEVICE_KINDS,         /* NUMA nodes of its devices */
	KNOWS_BOTH = 2 * DEVICE_KINDS,     /* PCIe roots of these and of GPUs */
	KNOWS_GPU_ROOT = 3 * DEVICE_KINDS, /* PCIe roots of its GPUs */
	NODE_KNOWS
};

/* Returns what is known of the node, a bit for each enum node_knows. */
uint32_t pool_devices_known(const struct node *node);

/* Whether the request says where devices other than GPUs must be. */
bool pool_devices_are_placed(const struct spec *spec);

/* Whether the pool of a cluster can give the request its devices where they
 * must be; assumed until the cluster has listed its nodes. If not, set *err. */
bool pool_devices_aligns(const struct state *state, uint32_t pool,
                         const struct spec *spec, struct err *err);

#endif
