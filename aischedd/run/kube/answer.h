/*
 * answer.h - apply the answers to calls about an attempt
 *
 * A call that failed for the moment is made again by the next tick. After a
 * lasting refusal, such as a missing permission, an attempt that starts fails,
 * and an attempt that runs makes the call again after KUBE_REST_MS.
 */
#ifndef AISCHEDD_RUN_KUBE_ANSWER_H
#define AISCHEDD_RUN_KUBE_ANSWER_H

#include <stdbool.h>

#include "aischedd/run/kube/ask.h"
#include "libcommon/err.h"

struct kube_answer;
struct kube_attempt;
struct kube_task;

/* Apply one answer. task: the pod that the call was about, or NULL. */
void kube_answer_take(struct kube_attempt *a, enum kube_ask_kind kind,
                      struct kube_task *task, const struct kube_answer *answer);

/* Whether the call may succeed if it is made again. */
bool kube_answer_is_passing(const struct err *err);

/* Apply the answer to a POST of *obj. If the object exists already, it was made
 * by an earlier call. Then frees *obj and sets it to NULL. */
void kube_answer_object(struct kube_attempt *a, json_t **obj,
                        const struct err *err);

#endif
