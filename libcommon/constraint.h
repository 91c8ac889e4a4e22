/*
 * constraint.h - expressions over node features: "ib&(h100|a100)"
 *
 * The grammar is Slurm's: names of features, & (which binds tighter), | and
 * parentheses. Counts, as in "ib&[rack1*2&rack2*4]", mean that all nodes have
 * ib, at least two are in rack1 and at least four in rack2; their brackets may
 * be left out. "ib&[a|b]" means that all nodes have ib, and all have a or all
 * have b; on one node it is the same as "ib&(a|b)". A ! before a name or
 * parentheses, which Slurm lacks, negates. A name, called a word here, holds on
 * a node that has this feature. Labels of clusters are features too, with a
 * value: "zone=a" is that label, "zone=" the label without a value, "zone" the
 * label with any value or none, "cores>8" and "cores<8" the label with a larger
 * or smaller integer.
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
	CONSTRAINT_NOT = -3,           /* negates the word before it */
	CONSTRAINT_MAX_COUNTS = 8,     /* counts in one expression */
	CONSTRAINT_MAX_COUNT = 100000, /* highest count of nodes */
	CONSTRAINT_MAX_LIST = 8, /* expressions in a list of preferences */
	/* Words, operators and counts of one constraint of a job. */
	CONSTRAINT_MAX_ITEMS = 256
};

/* Follows the key of a taint with the effect PreferNoSchedule: jobs avoid its
 * node if they can, but may use it. */
#define CONSTRAINT_TAINT_PREFERS ":PreferNoSchedule"

/* Convert the count of a term to the token that follows the term in postfix,
 * and back; constraint_count() returns 0 if the token is no count. */
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
 * Translate an expression to postfix: at most cap tokens, which are numbers of
 * words, CONSTRAINT_* and counts. Each ! is moved to the words: "!(a&b)"
 * becomes "!a|!b". If the function word is NULL, every word has the number 0.
 * Fails with EINVAL and the position, or with ERANGE if cap is too small.
 */
int constraint_parse(const char *s, constraint_word_fn *word, void *arg,
                     int32_t *ret, size_t cap, size_t *ret_n, struct err *err);

/*
 * Translate a list of expressions, as in "h100,ib&gen2", to postfix, one after
 * the other. When the postfix is evaluated, each expression leaves one value on
 * the stack. Counts and [] are refused. Fails like constraint_parse(), and with
 * EINVAL if there are more than CONSTRAINT_MAX_LIST expressions.
 */
int constraint_parse_list(const char *s, constraint_word_fn *word, void *arg,
                          int32_t *ret, size_t cap, size_t *ret_n,
                          struct err *err);

/* Returns how many alternatives the brackets of an expression have: 2 for
 * "[a|b]"; 0 if no brackets have a |. */
size_t constraint_alternatives(const char *s);
/* Returns the expression with alternative k, counted from 0, in place of the
 * brackets; the caller frees it. */
char *constraint_choose(const char *s, size_t k);

/* Whether the expression holds on a node; has() tells whether a word does.
 * Terms with counts always hold, and so does an empty rule. */
bool constraint_holds(const int32_t *rule, size_t n,
                      bool (*has)(int32_t word, const void *arg),
                      const void *arg);

/* Whether a word, such as "zone=a" or "cores>8", holds on a node that has
 * this feature. */
bool constraint_word_holds(const char *word, const char *feature);

/* Whether a taint, "key" or "key=value", has CONSTRAINT_TAINT_PREFERS. */
bool constraint_taint_is_soft(const char *taint);

#endif
