/*
 * first.h - find the node that a text names, of all that have the same trouble
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_FIRST_H
#define AISCHEDD_RUN_KUBE_DEVICE_FIRST_H

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/map.h"

/* Whether a node, a value of the map, has the trouble. */
typedef bool kube_first_fn(const void *node, const void *arg);

/* Returns the node with the trouble whose name is lowest, and sets *ret_n to
 * how many have it; NULL: none has. The first member of each value of the map
 * is its name (char *). */
const void *kube_first(const struct map *nodes, kube_first_fn *has,
                       const void *arg, size_t *ret_n);

#endif
