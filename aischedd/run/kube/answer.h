/*
 * answer.h - apply the answers to calls about an attempt
 *
 * A refused call that may succeed later is repeated by a tick. If an object
 * that a start needs is refused for good, the start fails; a running attempt
 * waits KUBE_REST_MS and asks again.
 */
#ifndef AISCHEDD_RUN_KUBE_ANSWER_H
#define AISCHEDD_RUN_KUBE_ANSWER_H

#include "aischedd/run/kube/ask.h"

struct kube_answer;
struct kube_attempt;
struct kube_task;

/* task: the pod that the call was about, or NULL. */
void kube_answer_take(struct kube_attempt *a, enum kube_ask_kind kind,
                      struct kube_task *task, const struct kube_answer *answer);

#endif
