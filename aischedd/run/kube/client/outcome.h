/*
 * outcome.h - what came of a try, and whether there is another
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_OUTCOME_H
#define AISCHEDD_RUN_KUBE_CLIENT_OUTCOME_H

#include <curl/curl.h>

struct kube_call;

/* As libcurl says; of one that was flying. */
void kube_outcome_tried(struct kube_call *call, CURLcode code);

#endif
