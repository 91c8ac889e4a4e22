/*
 * limit.h - what the processes may use
 */
#ifndef AISCHEDD_RUN_SHEPHERD_LIMIT_H
#define AISCHEDD_RUN_SHEPHERD_LIMIT_H

#include "aischedd/run/shepherd/shepherd.h"

/* Make the cgroup. */
void limits_make(struct shepherd *s);
/* Apply changed tasks or CPUs. */
void limits_change(struct shepherd *s);
/* Bind the process that becomes task i; or task i and all below it. */
void limits_bind_self(const struct shepherd *s, uint32_t i);
void limits_bind(const struct shepherd *s, uint32_t i);

#endif
