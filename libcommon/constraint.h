/*
 * constraint.h - expressions over node features: "ib&(h100|a100)"
 *
 * Slurm's grammar: names, & (binds tighter), |, parentheses; and counts,
 * "ib&[rack1*2&rack2*4]": all nodes have ib, at least two are in rack1 and
 * four in rack2.  The brackets may be left out.
 */
#ifndef LIBCOMMON_CONSTRAINT_H
#define LIBCOMMON_CONSTRAINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

enum {
	CONSTRAINT_AND = -1,
	CONSTRAINT_OR = -2,
	CONSTRAINT_MAX_COUNTS = 8,    /* in one expression */
	CONSTRAINT_MAX_COUNT = 100000 /* of nodes */
};

/* The token behind what so many nodes must have, and the other way round; 0:
 * the token is no count. */
static inline int32_t constraint_token(int32_t count)
{
	return CONSTRAINT_OR - count;
}

static inline int32_t constraint_count(int32_t token)
{
	return token < CONSTRAINT_OR ? CONSTRAINT_OR - token : 0;
}

/* The number (>= 0) of the word of len bytes, as the caller counts them. */
typedef int32_t constraint_word_fn(const char *word, size_t len, void *arg);

/*
 * Into postfix: words' numbers, CONSTRAINT_* and counts; *ret_n of at most cap.
 * word NULL: all are 0.
 * Fails: EINVAL with the position, ERANGE when cap is too small.
 */
int constraint_parse(const char *s, constraint_word_fn *word, void *arg,
                     int32_t *ret, size_t cap, size_t *ret_n, struct err *err);

/* Whether the expression holds on a node; has says whether it has the word.
 * What not all nodes need to have holds; so does an empty rule. */
bool constraint_holds(const int32_t *rule, size_t n,
                      bool (*has)(int32_t word, const void *arg),
                      const void *arg);

#endif
