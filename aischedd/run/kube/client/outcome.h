/*
 * outcome.h - decide after each try of a call: answer the caller, or try again
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_OUTCOME_H
#define AISCHEDD_RUN_KUBE_CLIENT_OUTCOME_H

#include <curl/curl.h>
#include <stdint.h>

struct kube_call;

/* Handle the result of libcurl for a call in flight. */
void kube_outcome_tried(struct kube_call *call, CURLcode code);

/* Handle the refusal of a WebSocket with this HTTP status; call->in has the
 * body of the answer. wait_s: the pause that the server asks for, or 0. */
void kube_outcome_refused(struct kube_call *call, int status, int64_t wait_s);

#endif
