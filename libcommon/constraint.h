/*
 * constraint.h - expressions over node features: "ib&(h100|a100)"
 *
 * Slurm's grammar: names, & (binds tighter), |, parentheses; and counts,
 * "ib&[rack1*2&rack2*4]": all nodes have ib, at least two are in rack1 and four
 * in rack2. The brackets may be left out. "ib&[a|b]": all nodes have the same
 * of a and b, which is the same as "ib&(a|b)" on one node. Besides, ! before a
 * word or parentheses: not. A word holds on a node that has the feature of that
 * name. Labels of clusters are features too, with a value: "zone=a" is that
 * label, "zone=" the label without a value, "zone" the label with any value or
 * none, "cores>8" and "cores<8" the label with a larger or smaller integer.
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
	CONSTRAINT_NOT = -3,           /* follows a word, nothing else */
	CONSTRAINT_MAX_COUNTS = 8,     /* counts in one expression */
	CONSTRAINT_MAX_COUNT = 100000, /* nodes of one count */
	CONSTRAINT_MAX_LIST = 8,       /* expressions of a list */
	CONSTRAINT_MAX_ITEMS = 256     /* words, operators and counts of one
	                                * text that a job may have */
};

/* Follows the key of a taint that only makes its node less welcome. */
#define CONSTRAINT_TAINT_PREFERS ":PreferNoSchedule"

/* Convert a count to the token that follows its term, and back; 0 if the token
 * is no count. */
static inline int32_t constraint_token(int32_t count)
{
	return CONSTRAINT_NOT - count;
}

static inline int32_t constraint_count(int32_t token)
{
	return token < CONSTRAINT_NOT ? CONSTRAINT_NOT - token : 0;
}

/* Returns the number (>= 0) that the caller gives to the word of len bytes. */
typedef int32_t constraint_word_fn(const char *word, size_t len, void *arg);

/*
 * Translate to postfix: numbers of words, CONSTRAINT_* and counts, at most cap
 * of them. Each ! is moved to the words: "!(a&b)" becomes "!a|!b". word NULL:
 * every word is 0. Fails with EINVAL and the position, or with ERANGE if cap is
 * too small.
 */
int constraint_parse(const char *s, constraint_word_fn *word, void *arg,
                     int32_t *ret, size_t cap, size_t *ret_n, struct err *err);

/*
 * Translate a list of expressions, "h100,ib&gen2", each behind the other: it
 * leaves one value for each. Counts and [] are refused. Fails as
 * constraint_parse(), and if there are more than CONSTRAINT_MAX_LIST.
 */
int constraint_parse_list(const char *s, constraint_word_fn *word, void *arg,
                          int32_t *ret, size_t cap, size_t *ret_n,
                          struct err *err);

/* Returns how many alternatives the brackets of an expression have, as in
 * "[a|b]"; 0: none. */
size_t constraint_alternatives(const char *s);
/* Returns the expression with the k-th of them in place of the brackets; the
 * caller frees it. */
char *constraint_choose(const char *s, size_t k);

/* Whether the expression holds on a node; has() tells whether the node has a
 * word.  Counted terms always hold, and so does an empty rule. */
bool constraint_holds(const int32_t *rule, size_t n,
                      bool (*has)(int32_t word, const void *arg),
                      const void *arg);

/* Whether a word holds on a node because of this feature. */
bool constraint_word_holds(const char *word, const char *feature);

/* Whether a taint, "key" or "key=value", has CONSTRAINT_TAINT_PREFERS. */
bool constraint_taint_is_soft(const char *taint);

#endif
