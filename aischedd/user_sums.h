/*
 * user_sums.h - what each user holds and waits for now
 *
 * Added up from sums that the state keeps by user and queue, and by combination
 * of user, account, queue and pool: no job is looked at.
 */
#ifndef AISCHEDD_USER_SUMS_H
#define AISCHEDD_USER_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct state;

struct user_sum {
	const char *name;
	int64_t gpus;    /* thousandths that their jobs hold */
	int64_t pending; /* jobs; each task of an array is one */
};

/* Returns how many users there are, *ret in order of their names, borrowed from
 * the state; the caller frees *ret. */
size_t user_sums(const struct state *state, struct user_sum **ret);

/* Sort the users by GPUs, or else by pending jobs, the most first. */
void user_sums_sort(struct user_sum *sum, size_t n, bool by_gpus);

#endif
