/*
 * usage.h - what a user has used of a queue, less as time goes by
 *
 * For each second a job is charged the largest part that it holds of any one
 * resource of its pool, in billionths: one GPU of eight is an eighth, whatever
 * CPUs go with it.  What was charged counts half after each half-life H.  So,
 * d seconds after `at`, his usage is
 *
 *	amount 2^(-d/H) + rate (1 - 2^(-d/H)) H / ln 2
 *
 * where rate is what all his jobs in the queue are charged: nothing has to be
 * done while they run, and it comes to the same however often somebody looks.
 * Integers only: it is the same on every machine.
 */
#ifndef AISCHEDD_STATE_USAGE_H
#define AISCHEDD_STATE_USAGE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CHARGE_ALL = 1000000000, /* a second: the job holds its whole pool */
	USAGE_NOTHING = 1000,    /* less than this is none */
	LIGHT_MOST = 1000        /* of a user who has used nothing */
};

struct usage {
	uint32_t queue, user;   /* indices in the state */
	uint64_t jobs, running; /* not ended; holding nodes */
	int64_t rate, amount, at;
	bool dirty; /* rate or amount are to be written */
	/* As of the last snapshot: usage, his part of the queue's in
	 * millionths, and how light a user he is. */
	int64_t used;
	uint32_t part;
	uint16_t light; /* 0 .. LIGHT_MOST */
};

/* Up to then, which is not before u->at. */
int64_t usage_at(const struct usage *u, int64_t half_life, int64_t when);

/* The rate has changed by this much; when: then, also before u->at. */
void usage_change(struct usage *u, int64_t half_life, int64_t by, int64_t when);

/*
 * 1000 * 2^(-used/all * users): 500 for one who has used no more and no less
 * than the others who share the queue's usage with him.
 */
uint16_t usage_light(int64_t used, int64_t all, uint32_t users);

#endif
