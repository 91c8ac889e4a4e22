/*
 * window.h - times that repeat, at the same time of the day
 */
#ifndef AISCHEDD_STATE_CLUSTER_WINDOW_H
#define AISCHEDD_STATE_CLUSTER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum repeat { REPEAT_NEVER, REPEAT_DAILY, REPEAT_WEEKLY };

/* Returns the word for a repetition, such as "daily". */
const char *repeat_name(enum repeat repeat);
/* Returns the enum repeat of a word, or -1 if there is no such word. */
int repeat_parse(const char *s);
int repeat_days(
    enum repeat repeat); /* days from one window to the next; 0: never */

/* From start until before end, in local time. */
struct window {
	int64_t start, end;
	enum repeat repeat;
};

/* Change w to its next repetition; returns false if it does not repeat. */
bool window_next(struct window *w);

/* Whether two windows, or any of their repetitions, overlap. */
bool windows_meet(struct window a, struct window b);

#endif
