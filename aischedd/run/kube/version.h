/*
 * version.h - whether the cluster is new enough
 */
#ifndef AISCHEDD_RUN_KUBE_VERSION_H
#define AISCHEDD_RUN_KUBE_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

struct kube;

struct kube_version {
	struct err old; /* why it is too old; code 0: it is not */
	bool known, asking;
	long minor;       /* the x of version 1.x; 0: not known */
	int64_t again_ms; /* time before which the version is not read again */
};

/* Read the version from the API server if it is not known yet, or was too
 * old. */
void kube_version_ask(struct kube *kube);

/* Whether the cluster has Kubernetes 1.MINOR or newer; true if its version is
 * not known. */
bool kube_version_is_from(const struct kube *kube, long minor);

#endif
