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
 * Returns the zone with this name, "" that of this machine; borrowed until
 * zones_refresh(). Fails as zone_load(); the file is read again after
 * zones_refresh().
 */
const struct zone *zones_get(struct zones *zones, const char *name,
                             struct err *err);

/* Forget zones whose files have changed, appeared or gone; returns whether
 * there are any. */
bool zones_refresh(struct zones *zones);

#endif
