/*
 * keep.h - save the logs of pods before the pods are deleted
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

/* Make the keeper of an attempt's logs; it reads nothing yet. */
struct kube_keep *kube_keep_new(struct kube *kube,
                                const struct kube_owner *owner);

/*
 * Save the logs of those pods of the attempt that are being deleted or, if
 * `all`, of all its pods. May be repeated. Once all these logs are saved,
 * kube_life_step() is called for the attempt.
 */
void kube_keep_add(struct kube_keep *keep, bool all);
/* Whether all logs that kube_keep_add() named are saved, or cannot be. */
bool kube_keep_is_done(const struct kube_keep *keep);

/* Whether the calls for all logs have had time to begin: each log is saved, has
 * sent data, or was requested at least a second ago. */
bool kube_keep_is_reading(const struct kube_keep *keep);

/* Begin or end calls for logs. Called soon after pods have changed, and each
 * second. */
void kube_keep_step(struct kube *kube);

/* Returns a sentence on why some log could not be saved; NULL if no log was
 * lost. */
const char *kube_keep_lost(const struct kube_keep *keep);
void kube_keep_free(struct kube_keep *keep); /* NULL is allowed */

#endif
