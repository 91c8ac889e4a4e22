/*
 * nodes.h - the nodes of a replay, for a configuration that has none
 */
#ifndef AISIM_NODES_H
#define AISIM_NODES_H

#include "libcommon/buf.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

/*
 * Load a configuration. If it has no node sections and the file `history` is a
 * replay, add the nodes of the replay. Nodes whose pool is not configured
 * are left out, with a line each in `lacks`. `history` may be NULL. Fails like
 * conf_load().
 */
struct conf *nodes_load_conf(const char *path, const char *history,
                             struct buf *warnings, struct buf *lacks,
                             struct err *err);

#endif
