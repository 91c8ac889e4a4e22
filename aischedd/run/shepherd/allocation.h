/*
 * allocation.h - the environment that the client of an allocation (salloc) gets
 */
#ifndef AISCHEDD_RUN_SHEPHERD_ALLOCATION_H
#define AISCHEDD_RUN_SHEPHERD_ALLOCATION_H

#include <jansson.h>

#include "aischedd/run/shepherd/shepherd.h"

/* Returns a new list of texts NAME=VALUE, which the caller owns. */
json_t *allocation_env(const struct shepherd *s);

#endif
