/*
 * rollup_purge.h - remove old sums of use by hour
 *
 * The hours of a day are removed together, because the sum of the day stays. In
 * table meta, `hours_from` is the time (unix seconds) from which the sums of
 * hours are complete. Use that is reported late may add sums of earlier hours
 * again: nothing reads these, and the next purge removes them.
 */
#ifndef AISCHEDD_STORE_ROLLUP_PURGE_H
#define AISCHEDD_STORE_ROLLUP_PURGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

struct store;
struct zone;

/* SQL: the time from which the sums of hours are complete; 0: all are. */
#define ROLLUP_HOURS_FROM                          \
	"SELECT coalesce(max(value), 0) FROM meta" \
	" WHERE key = 'hours_from'"

/*
 * Remove about `limit` rows with sums by hour, of days that ended by
 * `before`: the oldest hours first, each hour as a whole. *ret_more: whether
 * other such rows are left. zone: the time zone of days; NULL: UTC. Removes
 * nothing if it fails.
 */
int store_purge_hours(struct store *store, const struct zone *zone,
                      int64_t before, size_t limit, bool *ret_more,
                      struct err *err);

#endif
