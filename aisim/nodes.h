/*
 * nodes.h - the nodes of a replay, for a configuration that has none
 */
#ifndef AISIM_NODES_H
#define AISIM_NODES_H

#include "libcommon/buf.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

/*
 * Load a configuration. Without node sections it gets the nodes of the history,
 * if that is a replay; a node whose pool is not configured is left out, and
 * told in `lacks`, a line each. history: NULL: none. Fails as conf_load().
 */
struct conf *nodes_load_conf(const char *path, const char *history,
                             struct buf *warnings, struct buf *lacks,
                             struct err *err);

#endif
