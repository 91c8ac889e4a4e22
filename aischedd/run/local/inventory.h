/* inventory.h - find the CPUs, memory and GPUs of this machine */
#ifndef AISCHEDD_RUN_LOCAL_INVENTORY_H
#define AISCHEDD_RUN_LOCAL_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/local/devices.h"
#include "aischedd/run/local/gpus.h"
#include "aischedd/run/runner.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

struct machine {
	struct node_info node;
	/* [node.ncpus] the kernel's number of each CPU */
	const uint16_t *os_cpu;
	/* [node.ncpus] the kernel's number of each CPU's NUMA node */
	const uint8_t *os_numa;
	/* there is more than one NUMA node */
	bool many_numa;
	struct gpus gpus;       /* the GPUs that were found */
	struct devices devices; /* the devices besides GPUs */
};

/* Returns the size in MiB of the file system of a folder, without what is kept
 * for root; 0 if it cannot be read. */
int64_t machine_disk_mib(const char *dir);

/*
 * Find what this machine has: with hwloc, the hardware threads that our CPU
 * affinity allows, in hwloc's logical order; the memory, but no more than the
 * limit of our cgroup; the GPUs, whose number and type conf (may be NULL)
 * overrides; and the devices of these n kinds. All results are in the arena.
 * Fails with the error of hwloc.
 */
int machine_discover(struct machine *ret, const struct conf_node *conf,
                     const struct conf_device *kind, size_t n,
                     struct arena *arena, struct err *err);

#endif
