/*
 * labels.h - match labels against a LabelSelector of the API
 *
 * Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_LABELS_H
#define AISCHEDD_RUN_KUBE_OBJECT_LABELS_H

#include <jansson.h>
#include <stdbool.h>

/* Whether the selector matches an object with these labels. An empty selector
 * matches all objects; NULL matches none. */
bool kube_labels_match(const json_t *selector, const json_t *labels);

#endif
