/*
 * labels.h - match labels against selectors of the API
 *
 * Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_LABELS_H
#define AISCHEDD_RUN_KUBE_OBJECT_LABELS_H

#include <jansson.h>
#include <stdbool.h>

/* Whether a rule of matchExpressions holds for the value of its label. NotIn
 * and DoesNotExist hold for objects without the label (NULL). Gt and Lt are for
 * nodes only. */
bool kube_rule_holds(const json_t *rule, const char *label);

/* Whether the LabelSelector matches an object with these labels. An empty
 * selector matches all objects; NULL matches none. */
bool kube_labels_match(const json_t *selector, const json_t *labels);

#endif
