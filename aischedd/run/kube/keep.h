/*
 * keep.h - keep the logs of pods before the pods go
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
	unsigned nreading, nfollowing; /* calls in progress */
};

/* Make one for the logs of an attempt; reads none yet. */
struct kube_keep *kube_keep_new(struct kube *kube,
                                const struct kube_owner *owner);

/*
 * Keep the logs of those pods of the attempt that are being deleted, or of all.
 * May be repeated. Once all are kept, the attempt is stepped.
 */
void kube_keep_add(struct kube_keep *keep, bool all);
bool kube_keep_is_done(const struct kube_keep *keep);

/* Whether the pods can go without losing any of their output. */
bool kube_keep_is_reading(const struct kube_keep *keep);

/* Called soon after pods have changed, and each second. */
void kube_keep_step(struct kube *kube);

/* Returns why a log is not kept, as a sentence; NULL: all are. */
const char *kube_keep_lost(const struct kube_keep *keep);
void kube_keep_free(struct kube_keep *keep); /* NULL is allowed */

#endif
