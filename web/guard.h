/*
 * guard.h - limit the rate of requests of an address or a session
 *
 * These are token buckets, found by a hash of the visitor; two visitors with
 * the same bucket share its tokens.
 */
#ifndef WEB_GUARD_H
#define WEB_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* A set of buckets, which are refilled at a constant rate. */
struct guard {
	/* Tokens that a bucket gets per second, and can hold at most. */
	double rate, burst;
	struct guard_bucket {
		double left;
		int64_t at_ms;
	} bucket[1024];
};

void guard_init(struct guard *g, double rate, double burst);

/* Take a token of a bucket; returns false if it has none. */
bool guard_take(struct guard *g, uint64_t hash, int64_t now_ms);

#endif
