/*
 * step_room.h - the resources that steps have in their job
 *
 * A step without STEP_EXACT takes all resources of the job, so that no
 * other step runs at the same time, except one with STEP_OVERLAP. A step
 * with STEP_EXACT takes only what it asks for; a step with STEP_OVERLAP
 * takes nothing.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEP_ROOM_H
#define AISCHEDD_RUN_SHEPHERD_STEP_ROOM_H

#include "aischedd/run/shepherd/job_step.h"

/* Check that the step does not ask for more than the job has. Fails with the
 * text that Slurm has for this. */
int step_room_check(const struct shepherd *s, const struct step_request *req,
                    struct err *err);

/* Give the step CPUs, memory and GPUs that the n other steps do not use.
 * Returns false if too little is free. */
bool step_room_take(const struct shepherd *s, struct job_step *step,
                    struct job_step *const *other, size_t n);

#endif
