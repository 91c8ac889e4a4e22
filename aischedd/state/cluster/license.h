/*
 * license.h - licenses that a request names
 */
#ifndef AISCHEDD_STATE_CLUSTER_LICENSE_H
#define AISCHEDD_STATE_CLUSTER_LICENSE_H

#include <stddef.h>

#include "aischedd/sched/snap.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

enum { MAX_LICENSES = 16 };

/* Parse "a:2,b" into licenses of the configuration. Fails with EINVAL or
 * ENOENT. */
int licenses_parse(const struct conf *conf, const char *text,
                   struct snap_license_use ret[MAX_LICENSES], size_t *ret_n,
                   struct err *err);

/* The same, if only the names of the licenses are known; they are in the order
 * of the configuration. */
int licenses_parse_named(const char *const *name, size_t nnames,
                         const char *text,
                         struct snap_license_use ret[MAX_LICENSES],
                         size_t *ret_n, struct err *err);

#endif
