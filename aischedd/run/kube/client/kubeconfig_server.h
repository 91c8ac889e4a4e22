/*
 * kubeconfig_server.h - the server of a kubeconfig
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_SERVER_H
#define AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_SERVER_H

#include "aischedd/run/kube/client/kubeconfig.h"
#include "libcommon/err.h"

struct kube_config_entry;
struct kube_config_loader;

/* Set the server from a URL. Fails with EINVAL. */
int kube_config_set_server(struct kube_config *c, const char *server,
                           struct err *err);

/* Read the cluster entry into l->config. Returns -1, with the reason in l->err,
 * if something in it is wrong. */
int kube_config_read_cluster(struct kube_config_loader *l,
                             const struct kube_config_entry *e);

#endif
