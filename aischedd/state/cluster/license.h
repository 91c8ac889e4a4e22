/*
 * license.h - parse the licenses that a request names
 */
#ifndef AISCHEDD_STATE_CLUSTER_LICENSE_H
#define AISCHEDD_STATE_CLUSTER_LICENSE_H

#include <stddef.h>

#include "aischedd/sched/snap.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

enum { MAX_LICENSES = 16 };

/* Parse a text such as "a:2,b" into indexes of the configuration's licenses and
 * counts. Fails with EINVAL, or with ENOENT if there is no such license. */
int licenses_parse(const struct conf *conf, const char *text,
                   struct snap_license_use ret[MAX_LICENSES], size_t *ret_n,
                   struct err *err);

/* licenses_parse() with an array of names in place of the configuration;
 * indexes refer to this array. */
int licenses_parse_named(const char *const *name, size_t nnames,
                         const char *text,
                         struct snap_license_use ret[MAX_LICENSES],
                         size_t *ret_n, struct err *err);

#endif
