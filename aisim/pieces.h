/*
 * pieces.h - devices other than GPUs of jobs that are running at second 0
 *
 * This is about particular devices: those of which the configuration names the
 * PCIe roots. Sets of devices and of GPUs are bits, by number on their node.
 */
#ifndef AISIM_PIECES_H
#define AISIM_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/spec/devices.h"

struct node;

/* Returns the GPUs of the node whose PCIe roots have a device that is not
 * taken, of each kind that the task needs beside its GPUs. */
uint64_t pieces_gpus(const struct node *node, const struct device_need *need,
                     uint64_t taken);

/* Returns one device of each of these kinds under the root of a GPU, of those
 * that are not taken. */
uint64_t pieces_beside(const struct node *node, const struct device_need *need,
                       uint64_t gpu, uint64_t taken);

/* Choose the devices of a task that has these GPUs: where the request demands
 * them, else as near to the GPUs as possible. Returns false if too few are
 * left.
 */
bool pieces_take(const struct node *node, const struct device_need *need,
                 uint64_t gpus, uint64_t taken, uint64_t *ret);

#endif
