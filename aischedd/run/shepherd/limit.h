/*
 * limit.h - limit the resources of the job; bind its tasks to CPUs
 */
#ifndef AISCHEDD_RUN_SHEPHERD_LIMIT_H
#define AISCHEDD_RUN_SHEPHERD_LIMIT_H

#include "aischedd/run/shepherd/shepherd.h"

/* Make the job's cgroup and set its limits: memory, processes, CPUs, GPUs. */
void limits_make(struct shepherd *s);
/* Set the limits again after the job's tasks or CPUs have changed. */
void limits_change(struct shepherd *s);
/* Bind the calling process, which becomes task i, to the task's CPUs. */
void limits_bind_self(const struct shepherd *s, uint32_t i);
/* Bind the running task i and all its descendants to the task's CPUs. */
void limits_bind(const struct shepherd *s, uint32_t i);

#endif
