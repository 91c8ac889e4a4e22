/*
 * reconf.h - replace the configuration that the state uses
 */
#ifndef AISCHEDD_STATE_CLUSTER_RECONF_H
#define AISCHEDD_STATE_CLUSTER_RECONF_H

#include <stdint.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

struct state;

/*
 * Use another configuration from now on; `conf` is borrowed. Fails with EBUSY,
 * and changes nothing, if `conf` lacks a queue that has jobs, or a pool that
 * has nodes.
 */
int state_reconf(struct state *state, const struct conf *conf, int64_t now,
                 struct err *err);

#endif
