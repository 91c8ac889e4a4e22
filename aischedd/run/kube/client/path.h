/*
 * path.h - build paths of requests
 *
 * Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_PATH_H
#define AISCHEDD_RUN_KUBE_CLIENT_PATH_H

#include "libcommon/buf.h"

/* Append "/NAME", escaped. */
void kube_path_name(struct buf *path, const char *name);

/* Append "?KEY=VALUE", escaped; "&KEY=VALUE" if the path has a query
 * already. */
void kube_path_query(struct buf *path, const char *key, const char *value);

#endif
