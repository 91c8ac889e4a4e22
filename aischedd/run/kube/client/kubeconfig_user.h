/*
 * kubeconfig_user.h - the credentials of a kubeconfig
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_USER_H
#define AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_USER_H

struct kube_config_entry;
struct kube_config_loader;

/* Read the user entry into l->config. Returns -1, with the reason in l->err, if
 * something in it is wrong. */
int kube_config_read_user(struct kube_config_loader *l,
                          const struct kube_config_entry *e);

#endif
