/*
 * constraint.h - expressions over node features: "ib&(h100|a100)"
 *
 * Slurm's grammar without counts: names, & (binds tighter), |, parentheses.
 */
#ifndef LIBCOMMON_CONSTRAINT_H
#define LIBCOMMON_CONSTRAINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

enum { CONSTRAINT_AND = -1, CONSTRAINT_OR = -2 };

/* The number (>= 0) of the word of len bytes, as the caller counts them. */
typedef int32_t constraint_word_fn(const char *word, size_t len, void *arg);

/*
 * Into postfix: words' numbers and CONSTRAINT_*; *ret_n of at most cap.
 * Fails: EINVAL with the position, ERANGE when cap is too small.
 */
int constraint_parse(const char *s, constraint_word_fn *word, void *arg,
                     int32_t *ret, size_t cap, size_t *ret_n, struct err *err);

/* Whether the expression holds; has says whether the node has the word.  An
 * empty rule asks for nothing and holds. */
bool constraint_holds(const int32_t *rule, size_t n,
                      bool (*has)(int32_t word, const void *arg),
                      const void *arg);

#endif
