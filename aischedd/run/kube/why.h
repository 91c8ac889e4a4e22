/*
 * why.h - why a Job has no pods: only Events tell
 */
#ifndef AISCHEDD_RUN_KUBE_WHY_H
#define AISCHEDD_RUN_KUBE_WHY_H

#include <jansson.h>

struct kube;
struct kube_attempt;

/* Ask why some pods of the attempt are missing though its Job exists: now and
 * then, for all attempts at once. */
void kube_why_look(struct kube_attempt *a);

/* Handle the answer; NULL: there is none. */
void kube_why_told(struct kube *kube, const json_t *events);

#endif
