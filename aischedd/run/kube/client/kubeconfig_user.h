/*
 * kubeconfig_user.h - the credentials of a kubeconfig
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_USER_H
#define AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_USER_H

struct kube_config_entry;
struct kube_config_loader;

/* Returns -1 if something is wrong; the loader has the reason. */
int kube_config_read_user(struct kube_config_loader *l,
                          const struct kube_config_entry *e);

#endif
