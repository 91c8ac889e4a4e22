/*
 * reconf.h - another configuration
 */
#ifndef AISCHEDD_STATE_CLUSTER_RECONF_H
#define AISCHEDD_STATE_CLUSTER_RECONF_H

#include <stdint.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

struct state;

/*
 * Use another configuration from now on; conf is borrowed. Fails with EBUSY,
 * and changes nothing, if it lacks a queue, pool or node that has jobs.
 */
int state_reconf(struct state *state, const struct conf *conf, int64_t now,
                 struct err *err);

#endif
