/*
 * partition.h - partitions of GPUs (MIG) that a node's device plugin counts
 *
 * The plugin counts the partitions of each profile as a resource, such as
 * "nvidia.com/mig-1g.10gb"; in its name, "+me" is ".me". The kubelet chooses
 * which of them a pod gets, so it is not known on which GPU a partition is.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_PARTITION_H
#define AISCHEDD_RUN_KUBE_OBJECT_PARTITION_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/mig.h"

enum { KUBE_PARTITION_SIZE = 64 };

/* Whether a resource is one of partitions. *ret is its profile, or 0 if that is
 * not known. */
bool kube_partition_is(const char *resource, uint8_t *ret);

/* Write the resource of a profile to ret. */
void kube_partition_name(uint8_t profile, char ret[KUBE_PARTITION_SIZE]);

/* Read the numbers of partitions in a map of resources, by profile. */
void kube_partition_read(const json_t *map, uint16_t ret[MIG_PROFILES_MOST]);

/* Returns the first resource of partitions, with at least one, whose profile is
 * not known; or NULL. */
const char *kube_partition_unknown(const json_t *map);

/* Returns how often the node's device plugin counts each device of a resource,
 * for several pods to share it, as GPU feature discovery labels the node. */
int64_t kube_replicas_of(const json_t *labels, const char *resource);

/* Whether a resource is one of partitions that the plugin renamed because
 * several pods share each of them, such as "nvidia.com/mig-1g.10gb.shared". */
bool kube_partition_is_shared(const char *resource);

/* Set the numbers of partitions that several pods share to 0: those of a node
 * with these labels, whose resources `map` has. Returns the first resource that
 * counts some, or NULL. */
const char *kube_partition_drop_shared(const json_t *map, const json_t *labels,
                                       uint16_t ret[MIG_PROFILES_MOST]);

/* Put the counted partitions on as few made-up GPUs as possible, at most max,
 * the largest partitions first. Returns how many GPUs these are. */
uint32_t kube_partition_lay(const uint16_t count[MIG_PROFILES_MOST],
                            uint32_t max, uint64_t *ret);

#endif
