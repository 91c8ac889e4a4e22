/*
 * steps.h - count work, for bounds that hold on any machine
 *
 * A step takes some 100 ns: a look-up in a map, a comparison of texts, a record
 * of a list. Each loop whose length a request can choose counts its steps. When
 * a request has used up its slice, the daemon continues it in its next turn;
 * 1,000,000 steps are about 100 ms. Each thread has its own counter.
 */
#ifndef LIBCOMMON_STEPS_H
#define LIBCOMMON_STEPS_H

#include <stdint.h>

enum {
	STEPS_QUERY = 200,    /* steps that one database query counts as */
	STEPS_SLICE = 200000, /* most steps of one request, or one kind of work,
	                         in a turn */
	STEPS_TURN = 1000000  /* most steps of any turn */
};

extern _Thread_local uint64_t steps_so_far;

static inline void steps_add(uint64_t n)
{
	steps_so_far += n;
}

#endif
