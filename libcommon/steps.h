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
	                         in a turn; see steps_slice() */
	STEPS_LEAST = STEPS_SLICE / 8, /* least that steps_slice() returns */
	STEPS_TURN = 1000000,          /* most steps of any turn */
	/* most steps of one request, with those of the commit of its changes */
	STEPS_REQUEST_MOST = STEPS_TURN / 20 * 19,
	/* the part of a turn that slices divide among them; the rest is for a
	 * large request, and for the commit of all that was done */
	STEPS_SHARED = STEPS_TURN / 4
};

extern _Thread_local uint64_t steps_so_far;

/* steps_so_far when the thread's turn began; 0 before its first turn */
extern _Thread_local uint64_t steps_turn_began;

/* steps that the thread's next commit will take for changes made in this
 * turn */
extern _Thread_local uint64_t steps_owed;

static inline void steps_add(uint64_t n)
{
	steps_so_far += n;
}

static inline void steps_owe(uint64_t n)
{
	steps_owed += n;
}

static inline void steps_begin_turn(void)
{
	steps_turn_began = steps_so_far;
	steps_owed = 0;
}

/* Returns all steps so far and those that the commit will take. */
static inline uint64_t steps_spent(void)
{
	return steps_so_far + steps_owed;
}

/* Returns the steps that this turn has used or owes; 0 before the first
 * turn. */
static inline uint64_t steps_of_turn(void)
{
	return steps_turn_began ? steps_spent() - steps_turn_began : 0;
}

/* Returns the most steps that a kind of work may use now: STEPS_SLICE, or what
 * this turn has left of STEPS_SHARED, but at least STEPS_LEAST. So all kinds of
 * work go on, and do not add up to a long turn. */
uint64_t steps_slice(void);

#endif
