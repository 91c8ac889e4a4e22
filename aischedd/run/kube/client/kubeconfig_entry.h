/*
 * kubeconfig_entry.h - entries of a kubeconfig, for those who read them
 *
 * kubeconfig.c reads the files and chooses a context, which names entries that
 * kubeconfig_server.c and kubeconfig_user.c read.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_ENTRY_H
#define AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_ENTRY_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/run/kube/client/file.h"
#include "aischedd/run/kube/client/kubeconfig.h"

enum { KUBECONFIG_FILES = 8 };

/* One file; several are as if they were one, the first wins. */
struct kube_config_file {
	const char *path;
	json_t *tree;
};

struct kube_config_loader {
	struct kube_config *config;
	struct kube_config_file file[KUBECONFIG_FILES];
	size_t n;
	struct err *err;
};

/* An entry of a list like clusters, and the file that it is from. */
struct kube_config_entry {
	const struct kube_config_file *file;
	const char *kind, *name; /* "cluster", "kind-a" */
	const json_t *json;
};

/* Into the arena of its configuration. */
const char *kube_config_keep(struct kube_config_loader *l, const char *s);

/* NULL or "": the current one.  Both say what is wrong, and return -1. */
int kube_config_find_context(struct kube_config_loader *l, const char *name,
                             struct kube_config_entry *ret);

/* The entry that the context names. */
int kube_config_find_named(struct kube_config_loader *l,
                           const struct kube_config_entry *context,
                           const char *list, const char *kind,
                           struct kube_config_entry *ret);

/* Put the entry before what is wrong with it; returns -1. */
int kube_config_entry_wrong(struct kube_config_loader *l,
                            const struct kube_config_entry *e);

/* NULL: it is absent, null, empty, or no text. */
const char *kube_config_entry_text(const struct kube_config_entry *e,
                                   const char *key);
bool kube_config_entry_is_true(const struct kube_config_entry *e,
                               const char *key);

/* A path is relative to the folder of the kubeconfig. */
const char *kube_config_entry_resolve(struct kube_config_loader *l,
                                      const struct kube_config_entry *e,
                                      const char *path);

/*
 * PEM from KEY-data or else from the file that KEY names; *ret stays NULL
 * when there is neither.
 */
int kube_config_entry_read_pem(struct kube_config_loader *l,
                               const struct kube_config_entry *e,
                               const char *key, enum kube_pem kind,
                               const char **ret);

#endif
