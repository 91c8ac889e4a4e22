/*
 * pieces.h - devices other than GPUs of jobs that are running at second 0
 *
 * Only devices whose PCIe roots the configuration says are particular ones.
 */
#ifndef AISIM_PIECES_H
#define AISIM_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/spec/devices.h"

struct node;

/* Returns those GPUs of the node under whose roots a device is left, not in
 * `taken`, of each kind that the task needs beside its GPUs. */
uint64_t pieces_gpus(const struct node *node, const struct device_need *need,
                     uint64_t taken);

/* Returns one device of each of these kinds under the root of a GPU. */
uint64_t pieces_beside(const struct node *node, const struct device_need *need,
                       uint64_t gpu, uint64_t taken);

/* Choose the devices of a task with these GPUs: where the request demands them,
 * else near the GPUs. Returns false if they are not to be had. */
bool pieces_take(const struct node *node, const struct device_need *need,
                 uint64_t gpus, uint64_t taken, uint64_t *ret);

#endif
