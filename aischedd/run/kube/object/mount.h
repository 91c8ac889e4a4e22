/*
 * mount.h - volumes of pods: those of --mount, and the working directory
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

/* Add a volume of this kind, such as "emptyDir", and mount it at path. source:
 * the value of the field `kind`; taken. */
void kube_volumes_add(struct kube_volumes *v, const char *path,
                      const char *kind, json_t *source, bool read_only);

/*
 * Add the mounts of --mount: "/data,pvc:NAME:/mnt:ro"; list may be NULL. Fails
 * with EINVAL if a mount is malformed, or not allowed in the pool.
 */
int kube_volumes_mount(struct kube_volumes *v, const struct conf_pool *pool,
                       const char *list, struct err *err);

/*
 * Provide the working directory. If no mount has the path, mount an empty
 * folder there, or elsewhere if that would hide a folder that the image needs.
 * Returns the path at which the script begins.
 */
const char *kube_volumes_workdir(struct kube_volumes *v, const char *path);

/* The place of a container's file outside of the container; both texts are on
 * the heap. */
struct kube_mount_file {
	/* path on the node; if `claim` is not NULL, path in the container */
	char *file;
	/* the volume claim that has the file; NULL: the file is on the node */
	char *claim;
};

/*
 * Find the file, on the node or in a volume claim, that a container has at
 * `path`. list: the mounts of the container, as in --mount; if mounts are
 * nested, the innermost decides. Returns false if no mount has the file, or
 * only a read-only one.
 */
bool kube_mount_find(const char *list, const char *path,
                     struct kube_mount_file *ret);

#endif
