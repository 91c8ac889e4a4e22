/*
 * calendar.h - future events of running jobs, the earliest first
 *
 * A heap. Stale entries stay in it (the job was evicted before its end): the
 * reader recognises them by their old turn.
 */
#ifndef AISIM_CALENDAR_H
#define AISIM_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum calendar_kind {
	CALENDAR_END,    /* its work is done */
	CALENDAR_LIMIT,  /* its time limit is reached */
	CALENDAR_SHRUNK, /* evicted tasks of an elastic job have ended */
	CALENDAR_GONE    /* an evicted job has ended and holds nothing */
};

struct calendar_entry {
	int64_t at;
	uint64_t job;
	uint32_t turn;   /* the job's turn when the entry was made */
	uint32_t ntasks; /* SHRUNK: how many */
	enum calendar_kind kind;
};

struct calendar {
	struct calendar_entry *entry;
	size_t n, cap;
};

void calendar_add(struct calendar *calendar, struct calendar_entry entry);

/* Returns the first entry by time, job and turn; NULL if empty. */
const struct calendar_entry *calendar_first(const struct calendar *calendar);
void calendar_drop_first(struct calendar *calendar);

void calendar_fini(struct calendar *calendar);

#endif
