/*
 * version.h - whether a cluster is new enough to do what is asked of it
 */
#ifndef AISCHEDD_RUN_KUBE_VERSION_H
#define AISCHEDD_RUN_KUBE_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

struct kube;

struct kube_version {
	struct err old; /* why it will not do; code 0: it will */
	bool known, asking;
	int64_t again_ms; /* when to ask once more, if it will not do */
};

/* Ask for it if it is not known yet, or was too old. */
void kube_version_ask(struct kube *kube);

#endif
