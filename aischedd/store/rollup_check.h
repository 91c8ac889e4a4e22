/*
 * rollup_check.h - compare rollups with the attempts that they should sum up
 *
 * The check adds up again the pieces (struct ledger_piece) of attempts and of
 * running jobs, and counts in which states attempts ended. The sums of hours
 * must equal the result, the sums of days those of their hours, and the sums of
 * months those of their days, to the last unit. Purged history cannot be
 * compared: the comparison begins with the hour after the end of the last
 * purged attempt or the day after the last purged hour, whichever is later.
 */
#ifndef AISCHEDD_STORE_ROLLUP_CHECK_H
#define AISCHEDD_STORE_ROLLUP_CHECK_H

#include <stdint.h>

#include "libcommon/err.h"

struct zone;

/* One slice of the comparison: the hours and days of a week. The last slice
 * also compares all months. */
struct rollup_check {
	/* in: first second of the slice (`next` of the slice before); 0: begin
	 * with the first slice */
	int64_t from;
	int64_t first, last; /* out: first and last hour that can be compared */
	int64_t next; /* out: `from` of the next slice; 0: that was the last */
	uint64_t attempts, sums; /* out: number compared in this slice */
	uint64_t wrong;          /* out: number of wrong sums in this slice */
	/* Called with a message for each of the first 20 wrong sums. */
	void (*said)(const char *text, void *arg);
	void *arg;
};

/* Compare one slice. zone: time zone of days and months; NULL: UTC. Fails with
 * EAGAIN while long spans of use have yet to be booked to rollups. Thread safe:
 * reads with a connection of its own. */
int store_rollup_check(const char *path, const struct zone *zone,
                       struct rollup_check *check, struct err *err);

#endif
