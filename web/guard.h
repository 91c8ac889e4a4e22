/*
 * guard.h - how much one address or one session may take
 *
 * Buckets are found by a hash: two that share one share what it allows.
 */
#ifndef WEB_GUARD_H
#define WEB_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* Tokens that come back with time. */
struct guard {
	double rate, burst; /* tokens a second; most of them */
	struct guard_bucket {
		double left;
		int64_t at_ms;
	} bucket[1024];
};

void guard_init(struct guard *g, double rate, double burst);

/* Take one; returns false if there is none. */
bool guard_take(struct guard *g, uint64_t hash, int64_t now_ms);

#endif
