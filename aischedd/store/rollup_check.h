/*
 * rollup_check.h - compare rollups with the attempts that they should sum up
 *
 * What attempts and running jobs held is calculated again from their pieces,
 * and how attempts ended from their rows. Hours must equal that, days the sum
 * of their hours, months that of their days: to the last unit. History that was
 * purged cannot be compared: hours count from the end of the last attempt that
 * is gone.
 */
#ifndef AISCHEDD_STORE_ROLLUP_CHECK_H
#define AISCHEDD_STORE_ROLLUP_CHECK_H

#include <stdint.h>

#include "libcommon/err.h"

struct zone;

/* A slice of the comparison: some days, and at the end all months. */
struct rollup_check {
	int64_t from;            /* in: continue here, unix seconds; 0: begin */
	int64_t first, last;     /* out: the range that can be compared */
	int64_t next;            /* out: where to continue, 0: it is done */
	uint64_t attempts, sums; /* out: compared in this slice */
	uint64_t wrong;          /* out: sums that are wrong */
	/* Called for each of the first wrong sums. */
	void (*said)(const char *text, void *arg);
	void *arg;
};

/* Thread safe: reads with a connection of its own.  zone NULL: UTC. */
int store_rollup_check(const char *path, const struct zone *zone,
                       struct rollup_check *check, struct err *err);

#endif
