/*
 * devices.h - devices other than GPUs: how many of each kind
 *
 * Each `device` section of the configuration names a kind of device, such as
 * RDMA adapters. Requests and node sections name them in texts such as
 * "rdma:2,fpga". A request may say where they must be: with "rdma:2:pcie" each
 * is beside a GPU of its task, under the same PCIe root, and beside a GPU of
 * its own as far as there are as many; "rdma:2:numa" are in the NUMA nodes of
 * the task.
 */
#ifndef LIBCOMMON_SPEC_DEVICES_H
#define LIBCOMMON_SPEC_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

enum {
	DEVICE_KINDS = 8, /* kinds that may be configured */
	DEVICE_MAX = 9999 /* devices of one kind on one node */
};

/* By kind: a number of devices. Free numbers may be below 0. */
struct device_counts {
	int16_t n[DEVICE_KINDS];
};

/* The devices that a task asks for. Bit i of pcie and of numa: where those of
 * kind i must be; no kind is in both. */
struct device_need {
	struct device_counts counts;
	uint8_t pcie, numa;
};

/* Check the syntax of a text of a request. Fails with EINVAL or ERANGE. */
int devices_check(const char *text, struct err *err);

/* Parse a text; name[i] is the name of kind i, n <= DEVICE_KINDS. Numbers of
 * the same kind add up. Fails with EINVAL or ERANGE, or with ENOENT if there is
 * no such kind. */
int devices_parse(const char *const *name, size_t n, const char *text,
                  struct device_counts *ret, struct err *err);

/* The same, with where they must be. Also fails with EINVAL if a text says that
 * twice about a kind, and differently. */
int devices_parse_need(const char *const *name, size_t n, const char *text,
                       struct device_need *ret, struct err *err);

/* Append a text to a list of devices, each number divided among these tasks.
 * Fails like devices_check(), and with EINVAL if a number does not divide. */
int devices_divide(const char *text, int64_t tasks, struct buf *out,
                   struct err *err);

/* Append the text of numbers of n kinds, "rdma:2,fpga:1", with
 * `before` in front unless all are 0. */
void devices_put(const char *const *name, size_t n,
                 const struct device_counts *counts, const char *before,
                 struct buf *out);

/* Whether any number is not 0. */
static inline bool devices_any(const struct device_counts *counts)
{
	int any = 0;

	for (int i = 0; i < DEVICE_KINDS; i++)
		any |= counts->n[i];
	return any != 0;
}

#endif
