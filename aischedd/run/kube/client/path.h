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

/* Append "?KEY=VALUE", or with & after the first one, escaped. */
void kube_path_query(struct buf *path, const char *key, const char *value);

#endif
