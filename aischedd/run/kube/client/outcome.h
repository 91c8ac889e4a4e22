/*
 * outcome.h - judge a try of a call: answer, or try again
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_OUTCOME_H
#define AISCHEDD_RUN_KUBE_CLIENT_OUTCOME_H

#include <curl/curl.h>
#include <stdint.h>

struct kube_call;

/* Handle the result of libcurl for a call in flight. */
void kube_outcome_tried(struct kube_call *call, CURLcode code);

/* Likewise for one that was to open a socket, and got this HTTP status; what is
 * in call->in explains it. wait_ms: the pause that is asked for, or 0. */
void kube_outcome_refused(struct kube_call *call, int status, int64_t wait_ms);

#endif
