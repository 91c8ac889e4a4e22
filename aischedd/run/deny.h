/*
 * deny.h - keep a cgroup from devices
 *
 * The kernel runs a program at each open() and mknod() in a v2 cgroup
 * (BPF_CGROUP_DEVICE), beside programs of others, and on a hybrid system, too.
 * Files that are open already stay open.
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
 * Deny these to the group of a folder from now on, and no others that an
 * earlier call denied. *program is -1 at first, then the descriptor of what is
 * attached. Fails with the error of the system; then what was denied stays so.
 */
int deny_devices(const char *dir, const struct device_list *devices,
                 int *program);

/* Whether the kernel takes such programs from us. */
bool deny_works(void);

#endif
