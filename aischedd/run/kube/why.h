/*
 * why.h - find out from Events why a Job has no pods
 */
#ifndef AISCHEDD_RUN_KUBE_WHY_H
#define AISCHEDD_RUN_KUBE_WHY_H

#include <jansson.h>

struct kube;
struct kube_attempt;

/* Read the Events, as pods of the attempt are missing though its Job exists.
 * They are read only now and then, for all attempts at once. */
void kube_why_look(struct kube_attempt *a);

/* Handle the answer, a list of Events; NULL: it could not be read. */
void kube_why_told(struct kube *kube, const json_t *events);

#endif
