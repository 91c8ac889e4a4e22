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
	uint64_t job; /* id of a job or cron entry; 0: a new plan is due */
};

struct alarm_heap {
	struct alarm *heap; /* a heap, the earliest first */
	size_t n, cap;
};

/* Returns the time at which state_tick() is to be called next, or NO_TIME. */
int64_t state_next_tick(const struct state *state);

/* Handle begin times, time limits, deadlines, early signals and delays that
 * are due by now. */
void state_tick(struct state *state, int64_t now);

/*
 * The wall clock was set by_ms ahead (negative: back) and now says now_ms. Move
 * the ends of time limits and graces by as much, so that their lengths stay.
 * Delayed retries of jobs and nodes are made at once. Times that users named,
 * such as begin times, stay.
 */
void state_clock_set(struct state *state, int64_t by_ms, int64_t now_ms);

/* Have state_tick() look at the job at this time; NO_TIME: do nothing. */
void state_alarm(struct state *state, int64_t at, uint64_t job);

/* Set alarms for all times at which something of the job may be due. */
void state_arm(struct state *state, const struct job *job);

#endif
