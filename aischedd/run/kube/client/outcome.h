/*
 * outcome.h - judge a try of a call: answer, or try again
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_OUTCOME_H
#define AISCHEDD_RUN_KUBE_CLIENT_OUTCOME_H

#include <curl/curl.h>

struct kube_call;

/* Handle the result of libcurl for a call in flight. */
void kube_outcome_tried(struct kube_call *call, CURLcode code);

#endif
