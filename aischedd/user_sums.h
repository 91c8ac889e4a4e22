/*
 * user_sums.h - the GPUs and the pending jobs of each user at present
 *
 * The numbers are added up from smaller sums that the state keeps, such as
 * those of a user in a queue, without a look at any job.
 */
#ifndef AISCHEDD_USER_SUMS_H
#define AISCHEDD_USER_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct state;

struct user_sum {
	const char *name;
	/* thousandths of GPUs that the user's jobs hold */
	int64_t gpus;
	int64_t pending; /* jobs; each task of an array is one */
};

/* Sum up all users. Returns how many there are; *ret is sorted by name and
 * freed by the caller. Names are borrowed from the state. */
size_t user_sums(const struct state *state, struct user_sum **ret);

/* Sort the users by GPUs if by_gpus is set, else by pending jobs; the user with
 * the most comes first. */
void user_sums_sort(struct user_sum *sum, size_t n, bool by_gpus);

#endif
