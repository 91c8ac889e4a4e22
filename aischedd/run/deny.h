/*
 * deny.h - forbid the processes of a cgroup to open devices
 *
 * Attaches a BPF program (BPF_CGROUP_DEVICE) to a v2 cgroup; the kernel runs it
 * at each open() and mknod() of processes there. BPF programs that systemd or a
 * container runtime attached stay in force. This also works on systems that use
 * cgroups v1 beside v2. Files that are already open stay open.
 */
#ifndef AISCHEDD_RUN_DENY_H
#define AISCHEDD_RUN_DENY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/limits.h"
#include "libcommon/mig.h"

/* most devices of a list: two for each partition of each GPU */
enum { DENY_MOST = 2 * LIMIT_GPUS * MIG_UNITS };

/* Character devices of one major number: those listed or, with all_but, all
 * others. */
struct device_list {
	uint32_t major, n;
	bool all_but;
	int32_t minor[DENY_MOST];
};

/*
 * Deny the devices of these lists, at most DENY_LISTS of different major
 * numbers, to the cgroup whose folder is dir, in place of those denied by an
 * earlier call. *program must be -1 in the first call, and becomes the
 * descriptor of the attached program. If this fails, with errno, the devices of
 * the earlier call stay denied.
 */
enum { DENY_LISTS = 8 };
int deny_devices(const char *dir, const struct device_list *list, size_t n,
                 int *program);

/* Whether the kernel allows us to attach such programs. */
bool deny_works(void);

#endif
