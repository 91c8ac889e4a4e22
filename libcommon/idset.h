/*
 * idset.h - sets of array task ids
 *
 * Ascending, disjoint ranges lo..hi by step, so that an array of a million
 * tasks is one range.  A zeroed struct idset is the empty set.
 */
#ifndef LIBCOMMON_IDSET_H
#define LIBCOMMON_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

struct idrange {
	uint32_t lo, hi, step; /* hi is a member; step >= 1 */
};

struct idset {
	struct idrange *range;
	size_t n, cap;
	size_t gone; /* entries deleted from the front */
};

/*
 * Parse "0-99:2,7,200-210"; ids below LIMIT_ARRAY; duplicates are taken once.
 * With ret_max also a trailing "%10", 0 if there is none. Fails with EINVAL or
 * ERANGE; *ret is written only on success.
 */
int idset_parse(struct idset *ret, uint32_t *ret_max, const char *s,
                struct err *err);
void idset_free(struct idset *set); /* it is empty again */

void idset_format(const struct idset *set, struct buf *out);
uint32_t idset_count(const struct idset *set);
bool idset_has(const struct idset *set, uint32_t id);
uint32_t idset_min(const struct idset *set); /* must not be empty */
uint32_t idset_max(const struct idset *set);

void idset_add(struct idset *set, uint32_t id);
bool idset_del(struct idset *set,
               uint32_t id); /* returns false if it was not there */

/* Move the members that both sets have from set to *ret (overwritten). */
void idset_take(struct idset *set, const struct idset *which,
                struct idset *ret);
/* Whether they have a member in common. */
bool idset_meets(const struct idset *a, const struct idset *b);
void idset_copy(struct idset *ret, const struct idset *set);

/* Returns the next member above `after`, or -1; start with -1. */
int64_t idset_next(const struct idset *set, int64_t after);

#endif
