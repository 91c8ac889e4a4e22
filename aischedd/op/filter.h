/*
 * filter.h - lists of texts in a request, which choose jobs
 *
 * No list (NULL) names everything; what is not a text names nothing.
 */
#ifndef AISCHEDD_OP_FILTER_H
#define AISCHEDD_OP_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/daemon.h"

bool filter_has_text(const json_t *list, const char *text);
bool filter_has_state(const json_t *list, enum job_state state);

/* Whether all queues and nodes that are named exist.  Fails: ENOENT. */
int filter_check(const struct daemon *d, const json_t *queues,
                 const json_t *nodes, struct err *err);

#endif
