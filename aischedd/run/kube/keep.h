/*
 * keep.h - the logs of pods that have ended, kept before the pods go
 */
#ifndef AISCHEDD_RUN_KUBE_KEEP_H
#define AISCHEDD_RUN_KUBE_KEEP_H

#include <stdbool.h>
#include <sys/queue.h>

#include "aischedd/run/kube/object/object.h"

struct kube;
struct kube_keep;

struct kube_keeps {
	TAILQ_HEAD(, kube_kept) list; /* are read, or will be */
	unsigned nreading;            /* of those */
};

/* Read and keep the logs of all pods that an attempt has now; when that is done
 * the attempt is stepped. */
struct kube_keep *kube_keep_begin(struct kube *kube,
                                  const struct kube_owner *owner);
bool kube_keep_is_done(const struct kube_keep *keep);

/* Why one is not kept, for a person; NULL: all are. */
const char *kube_keep_lost(const struct kube_keep *keep);
void kube_keep_free(struct kube_keep *keep); /* NULL is fine */

#endif
