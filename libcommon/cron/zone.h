/*
 * zone.h - time zones by name, from the zone files of tzdata
 *
 * glibc has no thread-safe function for a zone given by name, so this code
 * reads TZif files itself: RFC 9636, version 2 or later. Instants are unix
 * seconds, local times are seconds since 1970-01-01 00:00 of the local clock.
 */
#ifndef LIBCOMMON_CRON_ZONE_H
#define LIBCOMMON_CRON_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/err.h"

#define ZONE_NEVER INT64_MAX /* no later transition */
#define ZONE_TEXT  72        /* bytes that zone_format() may fill */

struct zone;

/*
 * Read /usr/share/zoneinfo/NAME. Names with a leading "/" or bytes outside
 * A-Za-z0-9_+-/ are refused without opening a file. If name is NULL, read the
 * zone of $TZ, or else /etc/localtime. Fails with EINVAL for a bad name or
 * file, or with an errno of open.
 */
struct zone *zone_load(const char *name, struct err *err);

/* Read a zone from the content of a file. Fails with EINVAL. */
struct zone *zone_parse(const void *data, size_t len, struct err *err);
void zone_free(struct zone *zone); /* NULL is allowed */

/* Returns the offset of the local clock at an instant, in seconds east of
 * UTC. */
int32_t zone_offset(const struct zone *zone, int64_t at);

/* Returns the first transition later than `after`, or ZONE_NEVER. A transition
 * may leave the offset unchanged. */
int64_t zone_next(const struct zone *zone, int64_t after);

/* Get the first instant at which the local clock shows this time; returns false
 * if the clock skips it. */
bool zone_first(const struct zone *zone, int64_t local, int64_t *ret);

/* Write "2027-03-28T03:00:00+02:00". */
void zone_format(const struct zone *zone, int64_t at, char ret[ZONE_TEXT]);

#endif
