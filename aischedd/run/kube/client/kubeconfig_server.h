/*
 * kubeconfig_server.h - where an API server is, as a kubeconfig says
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_SERVER_H
#define AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_SERVER_H

#include "aischedd/run/kube/client/kubeconfig.h"
#include "libcommon/err.h"

struct kube_config_entry;
struct kube_config_loader;

/* From a URL.  Fails: EINVAL. */
int kube_config_set_server(struct kube_config *c, const char *server,
                           struct err *err);

/* Returns -1 if something is wrong; the loader says what. */
int kube_config_read_cluster(struct kube_config_loader *l,
                             const struct kube_config_entry *e);

#endif
