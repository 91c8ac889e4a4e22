/*
 * deny.h - forbid the processes of a cgroup to open devices
 *
 * The kernel runs a program at each open() and mknod() in a v2 cgroup
 * (BPF_CGROUP_DEVICE), in addition to programs of others, and on hybrid
 * systems, too. Files that are already open stay open.
 */
#ifndef AISCHEDD_RUN_DENY_H
#define AISCHEDD_RUN_DENY_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/limits.h"

/* Character devices of one major number. */
struct device_list {
	uint32_t major, n;
	int32_t minor[LIMIT_GPUS];
};

/*
 * Deny these devices to the cgroup of a folder from now on, in place of those
 * that an earlier call denied. *program is -1 at first, then the descriptor of
 * the attached program. Fails with the error of the system; what was denied
 * before then stays denied.
 */
int deny_devices(const char *dir, const struct device_list *devices,
                 int *program);

/* Whether the kernel lets us attach such programs. */
bool deny_works(void);

#endif
