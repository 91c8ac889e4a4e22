/*
 * kubeconfig_user.h - as whom to talk to an API server, as a kubeconfig says
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_USER_H
#define AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_USER_H

struct kube_config_entry;
struct kube_config_loader;

/* Returns -1 if something is wrong; the loader says what. */
int kube_config_read_user(struct kube_config_loader *l,
                          const struct kube_config_entry *e);

#endif
