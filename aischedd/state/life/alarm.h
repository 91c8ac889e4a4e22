/*
 * alarm.h - what is due when
 */
#ifndef AISCHEDD_STATE_LIFE_ALARM_H
#define AISCHEDD_STATE_LIFE_ALARM_H

#include <stddef.h>
#include <stdint.h>

struct job;
struct state;

struct alarm {
	int64_t at;
	uint64_t job; /* or an entry of recurring work; 0: a new plan is due */
};

struct alarm_heap {
	struct alarm *heap; /* a heap, the earliest first */
	size_t n, cap;
};

/* When state_tick() has something to do, or NO_TIME. */
int64_t state_next_tick(const struct state *state);

/* Handle begin times, time limits, deadlines, early signals and delays that
 * are due by now. */
void state_tick(struct state *state, int64_t now);

/*
 * The wall clock was set by_ms ahead (negative: back) and is now_ms. Move the
 * ends of time limits and graces with it, and try at once what was to be tried
 * again. Times that users named stay.
 */
void state_clock_set(struct state *state, int64_t by_ms, int64_t now_ms);

/* Set an alarm: check the job at that time; NO_TIME: never. */
void state_alarm(struct state *state, int64_t at, uint64_t job);

/* Set alarms for all times at which something of the job may be due. */
void state_arm(struct state *state, const struct job *job);

#endif
