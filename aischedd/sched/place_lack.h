/*
 * place_lack.h - why a job does not fit: what it lacks, and where
 */
#ifndef AISCHEDD_SCHED_PLACE_LACK_H
#define AISCHEDD_SCHED_PLACE_LACK_H

#include "aischedd/sched/place_trial.h"

/* Returns why the trial failed; leaves nothing placed. */
struct place_lack place_lack_of(struct place_trial *t);

#endif
