/*
 * answer.h - apply the answers to calls about an attempt
 *
 * If the API server refused a call that may succeed later, a tick makes it
 * again. If it refuses for good an object that a start needs, the start fails.
 * For an attempt that runs, the call is made again after KUBE_REST_MS.
 */
#ifndef AISCHEDD_RUN_KUBE_ANSWER_H
#define AISCHEDD_RUN_KUBE_ANSWER_H

#include "aischedd/run/kube/ask.h"

struct kube_answer;
struct kube_attempt;
struct kube_task;

/* Apply one answer. task: the pod that the call was about, or NULL. */
void kube_answer_take(struct kube_attempt *a, enum kube_ask_kind kind,
                      struct kube_task *task, const struct kube_answer *answer);

#endif
