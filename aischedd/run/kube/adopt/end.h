/*
 * end.h - take down a Job that others made; tell how it ended
 */
#ifndef AISCHEDD_RUN_KUBE_ADOPT_END_H
#define AISCHEDD_RUN_KUBE_ADOPT_END_H

#include <stdbool.h>

#include "aischedd/run/runner.h"

struct kube_adoptee;

/* Whether it is stopped, cannot start, or cannot go on. */
bool kube_adopt_end_is_due(const struct kube_adoptee *j);

/* Note that it cannot start, or go on; the first reason counts. */
void kube_adopt_end_fail(struct kube_adoptee *j, enum start_fault whose,
                         const char *text);

/* Suspend its Job, or delete it. */
void kube_adopt_end_take_down(struct kube_adoptee *j);

/* Delete for good the pods whose end no kubelet will report. */
void kube_adopt_end_fence(struct kube_adoptee *j);

/* Keep the logs of its pods that are being deleted, or of all. */
void kube_adopt_end_keep(struct kube_adoptee *j, bool all);

/* Whether the logs of its pods are kept, or cannot be. */
bool kube_adopt_end_is_kept(struct kube_adoptee *j);

/* Tell the last event of the attempt: nothing of it runs, and nothing will. */
void kube_adopt_end_tell(struct kube_adoptee *j);

#endif
