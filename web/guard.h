/*
 * guard.h - how much one address or one session may take
 *
 * Buckets are found by a hash; two visitors with the same bucket share its
 * tokens.
 */
#ifndef WEB_GUARD_H
#define WEB_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* A set of buckets whose tokens come back with time. */
struct guard {
	double rate, burst; /* tokens a second; the most of a bucket */
	struct guard_bucket {
		double left;
		int64_t at_ms;
	} bucket[1024];
};

void guard_init(struct guard *g, double rate, double burst);

/* Take a token of a bucket; returns false if it has none. */
bool guard_take(struct guard *g, uint64_t hash, int64_t now_ms);

#endif
