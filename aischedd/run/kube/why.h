/*
 * why.h - find out from Events why a Job has no pods
 */
#ifndef AISCHEDD_RUN_KUBE_WHY_H
#define AISCHEDD_RUN_KUBE_WHY_H

#include <jansson.h>

#include <stdint.h>

struct kube_space;

/* Read Events soon, because pods of an attempt are missing though its Job
 * exists. One call reads the Events of all Jobs of the namespace. Calls are at
 * least 3 s apart; while the same pods are missing, 15 s. *next_ms: when to
 * read them for this attempt, 0 at first. */
void kube_why_look(struct kube_space *space, int64_t *next_ms);

/* Handle the list of Events that was read; NULL: it could not be read. */
void kube_why_told(struct kube_space *space, const json_t *events);

#endif
