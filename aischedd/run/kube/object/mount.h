/*
 * mount.h - folders of pods: mounts, and where the script begins
 *
 * Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_MOUNT_H
#define AISCHEDD_RUN_KUBE_OBJECT_MOUNT_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

/* Volumes of a pod, and where they are in its container; both arrays are the
 * caller's. */
struct kube_volumes {
	json_t *volumes, *mounts;
	unsigned n;
};

/* source is taken. */
void kube_volumes_add(struct kube_volumes *v, const char *path,
                      const char *kind, json_t *source, bool read_only);

/*
 * Those of --mount: "/data,pvc:NAME:/mnt:ro"; list may be NULL.
 * Fails: EINVAL one is malformed, or not allowed in the pool.
 */
int kube_volumes_mount(struct kube_volumes *v, const struct conf_pool *pool,
                       const char *list, struct err *err);

/*
 * The script begins in the folder of that name: of a mount, else an empty one,
 * unless it would hide what the image needs.  Returns where it begins.
 */
const char *kube_volumes_workdir(struct kube_volumes *v, const char *path);

/* Where a file of a container is outside of it; both on the heap. */
struct kube_mount_file {
	char *file;  /* on its node, or as in the container */
	char *claim; /* the volume it is in; NULL: a folder of the node */
};

/*
 * Whether that name in a container is below a mount of the list that can be
 * written to; the innermost counts.
 */
bool kube_mount_find(const char *list, const char *path,
                     struct kube_mount_file *ret);

#endif
