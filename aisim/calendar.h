/*
 * calendar.h - future events of running jobs, the earliest first
 *
 * This is a heap. Entries that no longer apply, for example because the job was
 * evicted, stay in the heap; their turn differs from sim_job.turn.
 */
#ifndef AISIM_CALENDAR_H
#define AISIM_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum calendar_kind {
	CALENDAR_END,    /* the job's work is done */
	CALENDAR_LIMIT,  /* the job reaches its time limit */
	CALENDAR_SHRUNK, /* evicted tasks of an elastic job have ended */
	CALENDAR_GONE    /* an evicted job has ended and holds nothing */
};

struct calendar_entry {
	int64_t at;
	uint64_t job;
	uint32_t turn;   /* sim_job.turn when the entry was made */
	uint32_t ntasks; /* for CALENDAR_SHRUNK: how many tasks */
	enum calendar_kind kind;
};

struct calendar {
	struct calendar_entry *entry;
	size_t n, cap;
};

void calendar_add(struct calendar *calendar, struct calendar_entry entry);

/* Returns the first entry, by time, job and turn; NULL if there is none. */
const struct calendar_entry *calendar_first(const struct calendar *calendar);
void calendar_drop_first(struct calendar *calendar);

void calendar_fini(struct calendar *calendar);

#endif
