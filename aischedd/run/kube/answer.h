/*
 * answer.h - what the answers to calls about an attempt change
 *
 * A refused call that may be granted later is made again by a tick.  What a
 * start needs and is refused for good fails the start; what a running attempt
 * needs waits KUBE_REST_MS and is asked for again.
 */
#ifndef AISCHEDD_RUN_KUBE_ANSWER_H
#define AISCHEDD_RUN_KUBE_ANSWER_H

#include "aischedd/run/kube/ask.h"

struct kube_answer;
struct kube_attempt;
struct kube_task;

/* task: the pod the call was about, or NULL. */
void kube_answer_take(struct kube_attempt *a, enum kube_ask_kind kind,
                      struct kube_task *task, const struct kube_answer *answer);

#endif
