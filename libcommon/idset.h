/*
 * idset.h - sets of array task ids
 *
 * A set is a list of ascending, disjoint ranges from lo to hi in steps, so
 * that an array of a million tasks is one range. A zeroed struct idset is the
 * empty set.
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
	uint32_t n, cap;
	uint32_t gone; /* ranges deleted from the front, whose memory is before
	                  `range` */
};

/*
 * Parse "0-99:2,7,200-210"; ids must be below LIMIT_ARRAY and may be repeated.
 * If ret_max is not NULL, "%10" may follow, which sets *ret_max to 10; without
 * it *ret_max is 0. Fails with EINVAL or ERANGE; *ret is written only on
 * success.
 */
int idset_parse(struct idset *ret, uint32_t *ret_max, const char *s,
                struct err *err);
void idset_free(struct idset *set); /* leaves an empty set */

void idset_format(const struct idset *set, struct buf *out);
uint32_t idset_count(const struct idset *set);
bool idset_has(const struct idset *set, uint32_t id);
uint32_t idset_min(const struct idset *set); /* the set must not be empty */
uint32_t idset_max(const struct idset *set);

void idset_add(struct idset *set, uint32_t id);
bool idset_del(struct idset *set,
               uint32_t id); /* returns false if the id was absent */

/* Remove from set the ids that `which` has, too, and put them in *ret, whose
 * old content is not freed. */
void idset_take(struct idset *set, const struct idset *which,
                struct idset *ret);
/* Whether the sets have a member in common. */
bool idset_meets(const struct idset *a, const struct idset *b);
void idset_copy(struct idset *ret, const struct idset *set);

/* Returns the smallest member above `after`, or -1 if there is none; start
 * with -1. */
int64_t idset_next(const struct idset *set, int64_t after);

#endif
