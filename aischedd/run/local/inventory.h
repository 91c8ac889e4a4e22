/*
 * inventory.h - find what this machine has
 */
#ifndef AISCHEDD_RUN_LOCAL_INVENTORY_H
#define AISCHEDD_RUN_LOCAL_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/local/gpus.h"
#include "aischedd/run/runner.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

struct machine {
	struct node_info node;
	const uint16_t *os_cpu; /* [node.ncpus] the kernel's numbers */
	const uint8_t *os_numa; /* [node.ncpus] */
	bool many_numa;         /* more than one NUMA node */
	struct gpus gpus;       /* the GPUs that were found */
};

/*
 * Find with hwloc the hardware threads that our CPU affinity allows, in hwloc's
 * logical order; the memory, at most the limit of our cgroup; and the GPUs.
 * conf, which may be NULL, overrides the number and the type of the GPUs.
 * Everything is in the arena. Fails with the error of hwloc.
 */
int machine_discover(struct machine *ret, const struct conf_node *conf,
                     struct arena *arena, struct err *err);

#endif
