/*
 * calendar.h - what will happen to running jobs, the earliest first
 *
 * A heap.  An entry is not taken out when it is overtaken (the job was
 * evicted before its end): whoever takes it sees that its turn is an old one.
 */
#ifndef AISIM_CALENDAR_H
#define AISIM_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum calendar_kind {
	CALENDAR_END,    /* its work is done */
	CALENDAR_LIMIT,  /* its time limit is reached */
	CALENDAR_SHRUNK, /* tasks that were to leave have done so */
	CALENDAR_GONE    /* what it held is free after an eviction */
};

struct calendar_entry {
	int64_t at;
	uint64_t job;
	uint32_t turn;   /* the job's, when this was written */
	uint32_t ntasks; /* SHRUNK: how many */
	enum calendar_kind kind;
};

struct calendar {
	struct calendar_entry *entry;
	size_t n, cap;
};

void calendar_add(struct calendar *calendar, struct calendar_entry entry);

/* The first: by time, then job, then turn.  NULL: empty. */
const struct calendar_entry *calendar_first(const struct calendar *calendar);
void calendar_drop_first(struct calendar *calendar);

void calendar_fini(struct calendar *calendar);

#endif
