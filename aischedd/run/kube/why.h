/*
 * why.h - why no pods come of a Job: a cluster says so in Events alone
 */
#ifndef AISCHEDD_RUN_KUBE_WHY_H
#define AISCHEDD_RUN_KUBE_WHY_H

#include <jansson.h>

struct kube;
struct kube_attempt;

/* Its Job is there, and some of its pods are not: ask why, now and then, and
 * for all attempts at once. */
void kube_why_look(struct kube_attempt *a);

/* The answer; NULL: there is none. */
void kube_why_told(struct kube *kube, const json_t *events);

#endif
