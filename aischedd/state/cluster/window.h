/*
 * window.h - times that repeat, at the same time of the day
 */
#ifndef AISCHEDD_STATE_CLUSTER_WINDOW_H
#define AISCHEDD_STATE_CLUSTER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum repeat { REPEAT_NEVER, REPEAT_DAILY, REPEAT_WEEKLY };

/* "daily"; returns -1 if there is no such word. */
const char *repeat_name(enum repeat repeat);
int repeat_parse(const char *s);
int repeat_days(
    enum repeat repeat); /* days from one window to the next; 0: never */

/* From start until before end, in local time. */
struct window {
	int64_t start, end;
	enum repeat repeat;
};

/* Move to the next window; returns false if there is none. */
bool window_next(struct window *w);

/* Whether two windows, or their repetitions, ever overlap. */
bool windows_meet(struct window a, struct window b);

#endif
