/*
 * window.h - windows of time that repeat every day or week at the same hour
 */
#ifndef AISCHEDD_STATE_CLUSTER_WINDOW_H
#define AISCHEDD_STATE_CLUSTER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum repeat { REPEAT_NEVER, REPEAT_DAILY, REPEAT_WEEKLY };

/* Returns the name of a repetition, such as "daily". */
const char *repeat_name(enum repeat repeat);
/* Returns the enum repeat with this name, or -1 if there is none. */
int repeat_parse(const char *s);
/* Returns the days from one window to the next; 0: it does not repeat. */
int repeat_days(enum repeat repeat);

/* The time from `start` until just before `end`, unix seconds. A repetition
 * begins at the same local time of a later day. */
struct window {
	int64_t start, end;
	enum repeat repeat;
};

/* Change w to its next repetition; returns false if it does not repeat. */
bool window_next(struct window *w);

/* Whether two windows, or any of their repetitions, overlap. If both repeat,
 * looks at the hours as they are in winter, in summer, and in the weeks in
 * which the clock changes; calls localtime_r(3) about a hundred times. */
bool windows_meet(struct window a, struct window b);

#endif
