/*
 * zones.h - a cache of time zones, until their files change
 */
#ifndef LIBCOMMON_CRON_ZONES_H
#define LIBCOMMON_CRON_ZONES_H

#include <stdbool.h>

#include "libcommon/cron/zone.h"

struct zones;

struct zones *zones_new(void);
void zones_free(struct zones *zones); /* NULL is allowed */

/*
 * Returns the zone with this name; "" is the zone of this machine. The pointer
 * is valid until zones_refresh(). Fails like zone_load(); then later calls
 * fail, too, until zones_refresh() finds that the file has changed.
 */
const struct zone *zones_get(struct zones *zones, const char *name,
                             struct err *err);

/* Drop the zones whose files have changed, appeared or disappeared since they
 * were read. Returns whether there were any. */
bool zones_refresh(struct zones *zones);

#endif
