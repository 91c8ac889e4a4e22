/*
 * step_room.h - the resources that steps have in their job
 *
 * A step without STEP_EXACT takes all resources of the job, so no other step
 * runs beside it, except with STEP_OVERLAP. With STEP_EXACT a step takes only
 * what it asks for; with STEP_OVERLAP, nothing.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEP_ROOM_H
#define AISCHEDD_RUN_SHEPHERD_STEP_ROOM_H

#include "aischedd/run/shepherd/job_step.h"

/* Fails, in Slurm's words, if the step asks for more than the job has. */
int step_room_check(const struct shepherd *s, const struct step_request *req,
                    struct err *err);

/* Give the step its CPUs, memory and GPUs out of what the n other steps leave;
 * returns false if that is too little. */
bool step_room_take(const struct shepherd *s, struct job_step *step,
                    struct job_step *const *other, size_t n);

#endif
