/*
 * why.h - find out from Events why a Job has no pods
 */
#ifndef AISCHEDD_RUN_KUBE_WHY_H
#define AISCHEDD_RUN_KUBE_WHY_H

#include <jansson.h>

struct kube_space;
struct kube_attempt;

/* Read Events soon, because pods of the attempt are missing though its Job
 * exists. One call reads the Events of all Jobs of the namespace. Calls are at
 * least 3 s apart; while the same pods are missing, 15 s. */
void kube_why_look(struct kube_attempt *a);

/* Handle the list of Events that was read; NULL: it could not be read. */
void kube_why_told(struct kube_space *space, const json_t *events);

#endif
