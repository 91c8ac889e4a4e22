/*
 * mount.h - volumes of pods: mounts, and the working directory
 *
 * Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_MOUNT_H
#define AISCHEDD_RUN_KUBE_OBJECT_MOUNT_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

/* Volumes of a pod, and their mounts in its container; owns: the caller. */
struct kube_volumes {
	json_t *volumes, *mounts;
	unsigned n;
};

/* Takes source. */
void kube_volumes_add(struct kube_volumes *v, const char *path,
                      const char *kind, json_t *source, bool read_only);

/*
 * Add the mounts of --mount: "/data,pvc:NAME:/mnt:ro"; list may be NULL. Fails
 * with EINVAL if one is malformed, or not allowed in the pool.
 */
int kube_volumes_mount(struct kube_volumes *v, const struct conf_pool *pool,
                       const char *list, struct err *err);

/*
 * Provide the working directory of that name: in a mount, else as an empty
 * folder, unless that would hide a folder that the image needs. Returns where
 * the script begins.
 */
const char *kube_volumes_workdir(struct kube_volumes *v, const char *path);

/* Where a container's file is, outside of the container; both texts are on the
 * heap. */
struct kube_mount_file {
	char *file;  /* on its node; or the name in the container */
	char *claim; /* the volume claim it is in; NULL: a folder of the node */
};

/*
 * Whether the path in a container is below a writable mount of the list; the
 * innermost mount decides.
 */
bool kube_mount_find(const char *list, const char *path,
                     struct kube_mount_file *ret);

#endif
