/*
 * filter.h - whether a list of texts in a request names something
 *
 * No list (NULL) names everything; what is not a text names nothing.
 */
#ifndef AISCHEDD_FILTER_H
#define AISCHEDD_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/names.h"

bool filter_has_text(const json_t *list, const char *text);
bool filter_has_state(const json_t *list, enum job_state state);

#endif
