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
	TAILQ_HEAD(, kube_kept) list;
	unsigned nreading, nfollowing; /* of those */
};

/* For the logs of an attempt; none is read yet. */
struct kube_keep *kube_keep_new(struct kube *kube,
                                const struct kube_owner *owner);

/*
 * Keep the logs of those pods of the attempt that are being deleted, or of all
 * that it has.  May be repeated.  When all are kept the attempt is stepped.
 */
void kube_keep_add(struct kube_keep *keep, bool all);
bool kube_keep_is_done(const struct kube_keep *keep);

/* Whether what their pods print from now on will be had, if they go. */
bool kube_keep_is_reading(const struct kube_keep *keep);

/* Soon after pods have changed, and each second. */
void kube_keep_step(struct kube *kube);

/* Why one is not kept, for a person; NULL: all are. */
const char *kube_keep_lost(const struct kube_keep *keep);
void kube_keep_free(struct kube_keep *keep); /* NULL is fine */

#endif
