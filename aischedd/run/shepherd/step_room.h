/*
 * step_room.h - the resources that steps have in their job
 *
 * A step without STEP_EXACT takes all that the job has, so it runs alone; with
 * STEP_EXACT it takes what it asks for; with STEP_OVERLAP, nothing.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_STEP_ROOM_H
#define AISCHEDD_RUN_SHEPHERD_STEP_ROOM_H

#include "aischedd/run/shepherd/job_step.h"

/* Fails, in Slurm's words, if the step asks for more than the job has. */
int step_room_check(const struct shepherd *s, const struct step_request *req,
                    struct err *err);

/* Give the step its part beside the n others; returns false if too little is
 * left. */
bool step_room_take(const struct shepherd *s, struct job_step *step,
                    struct job_step *const *other, size_t n);

#endif
