/*
 * alarm.h - alarms: at which times the state has something to do
 */
#ifndef AISCHEDD_STATE_LIFE_ALARM_H
#define AISCHEDD_STATE_LIFE_ALARM_H

#include <stddef.h>
#include <stdint.h>

struct job;
struct state;

struct alarm {
	int64_t at;
	uint64_t job; /* id of a job or cron entry; 0: ask for a new plan */
};

struct alarm_heap {
	struct alarm *heap; /* a heap, the earliest first */
	size_t n, cap;
};

/* Returns the time at which state_tick() is to be called next, or NO_TIME. */
int64_t state_next_tick(const struct state *state);

/* Handle everything that is due by now: begin times, time limits, deadlines,
 * early signals, delays of retries, cron entries, reservations. Does a slice of
 * the work that is divided among turns. */
void state_tick(struct state *state, int64_t now);

/*
 * Adapt the state after the wall clock was set by_ms ahead (negative: back); it
 * now says now_ms. Move the ends of time limits and graces by as much, so that
 * their lengths stay the same. Jobs and nodes whose retry was delayed are tried
 * again at once. Times that users named, such as begin times, stay.
 */
void state_clock_set(struct state *state, int64_t by_ms, int64_t now_ms);

/* Have state_tick() look at the job or cron entry with this id at this time;
 * does nothing if `at` is NO_TIME. job 0: have it ask for a new plan. */
void state_alarm(struct state *state, int64_t at, uint64_t job);

/* Set alarms for all times at which state_tick() may have something to do for
 * the job. */
void state_arm(struct state *state, const struct job *job);

#endif
