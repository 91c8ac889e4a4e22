/* steps.c - count the steps of work that each thread does */
#include "libcommon/steps.h"

_Thread_local uint64_t steps_so_far, steps_turn_began, steps_owed;

uint64_t steps_slice(void)
{
	uint64_t used = steps_of_turn();
	uint64_t rest = used < STEPS_SHARED ? STEPS_SHARED - used : 0;

	return rest > STEPS_SLICE   ? STEPS_SLICE
	       : rest > STEPS_LEAST ? rest
	                            : STEPS_LEAST;
}
