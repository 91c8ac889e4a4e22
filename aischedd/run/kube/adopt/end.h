/*
 * end.h - stop a Job made with kubectl, and report how it ended
 */
#ifndef AISCHEDD_RUN_KUBE_ADOPT_END_H
#define AISCHEDD_RUN_KUBE_ADOPT_END_H

#include <stdbool.h>

#include "aischedd/run/runner.h"

struct kube_adoptee;

/* Whether the Job's attempt must end: stop() was called, or the attempt could
 * not start or cannot continue. */
bool kube_adopt_end_is_due(const struct kube_adoptee *j);

/* Note that the attempt cannot start or, if it has started, cannot continue.
 * Only the first reason is kept. */
void kube_adopt_end_fail(struct kube_adoptee *j, enum start_fault whose,
                         const char *text);

/* Begin to save the logs, then suspend the Job; delete it if the job was
 * cancelled or missed its deadline; make it fail if it exceeded its time limit.
 */
void kube_adopt_end_take_down(struct kube_adoptee *j);

/* Delete pods that nothing else will end: those whose node is gone, those whose
 * deletion takes too long, and those whose Job was deleted without them. */
void kube_adopt_end_fence(struct kube_adoptee *j);

/* Save the logs of the Job's pods that are being deleted or, if `all`, of all
 * its pods. */
void kube_adopt_end_keep(struct kube_adoptee *j, bool all);

/* Save the logs of all pods of the Job. Returns true if they are saved, or
 * cannot be. */
bool kube_adopt_end_is_kept(struct kube_adoptee *j);

/* Report the last event of the attempt. Call this when no pod of the attempt
 * runs any longer. */
void kube_adopt_end_tell(struct kube_adoptee *j);

#endif
