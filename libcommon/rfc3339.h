/*
 * rfc3339.h - parse and format times as Kubernetes writes them (RFC 3339)
 *
 * Times are microseconds since 1970, UTC.
 */
#ifndef LIBCOMMON_RFC3339_H
#define LIBCOMMON_RFC3339_H

#include <stdint.h>

#include "libcommon/err.h"

/*
 * Parse "2026-11-21T07:00:00Z", "....000001Z" or "....5+02:00"; digits below
 * a microsecond are dropped.  Fails with EINVAL.
 */
int rfc3339_parse(const char *s, int64_t *ret_us, struct err *err);

/* Write "2026-11-21T07:00:00.000000Z". */
void rfc3339_format(int64_t us, char ret[28]);

#endif
