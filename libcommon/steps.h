/*
 * steps.h - how much was done, for bounds that must hold on any machine
 *
 * A step is what takes some 100 ns: a look into a map, a comparison of texts,
 * a record on a list.  What a request can make the daemon repeat counts its
 * steps, and goes on in the next turn when a slice of them is done; 1,000,000
 * steps are about 100 ms.  Each thread has a counter of its own.
 */
#ifndef LIBCOMMON_STEPS_H
#define LIBCOMMON_STEPS_H

#include <stdint.h>

enum {
	STEPS_QUERY = 200, /* one question to the database */
	STEPS_SLICE =
	    200000, /* of one request, or one kind of work, in a turn */
	STEPS_TURN = 1000000 /* no turn may take more */
};

extern _Thread_local uint64_t steps_so_far;

static inline void steps_add(uint64_t n)
{
	steps_so_far += n;
}

#endif
