/*
 * kubeconfig_entry.h - the entries of a kubeconfig
 *
 * kubeconfig.c reads the files and chooses a context. kubeconfig_server.c reads
 * the cluster that the context names, and kubeconfig_user.c the user.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_ENTRY_H
#define AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_ENTRY_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/run/kube/client/file.h"
#include "aischedd/run/kube/client/kubeconfig.h"

enum { KUBECONFIG_FILES = 8 };

/* A file of the kubeconfig. If several files have an entry of the same name,
 * the entry in the first of these files is used. */
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

/* An entry of a list such as clusters, and the file it is in. */
struct kube_config_entry {
	const struct kube_config_file *file;
	const char *kind, *name; /* "cluster", "kind-a" */
	const json_t *json;
};

/* Copy a string into the arena of the configuration. */
const char *kube_config_keep(struct kube_config_loader *l, const char *s);

/* Find a context (NULL or "": the current one). Returns -1, with the reason in
 * l->err, if there is none. */
int kube_config_find_context(struct kube_config_loader *l, const char *name,
                             struct kube_config_entry *ret);

/* Find the cluster or user of a context: the entry of `list` that the context
 * names in its field `kind`. Returns -1, with the reason in l->err, if there is
 * none. */
int kube_config_find_named(struct kube_config_loader *l,
                           const struct kube_config_entry *context,
                           const char *list, const char *kind,
                           struct kube_config_entry *ret);

/* Put the entry's file, kind and name before the text of l->err. Returns -1. */
int kube_config_entry_wrong(struct kube_config_loader *l,
                            const struct kube_config_entry *e);

/* Returns a text of the entry; NULL if there is none, or if it is empty. */
const char *kube_config_entry_text(const struct kube_config_entry *e,
                                   const char *key);
bool kube_config_entry_is_true(const struct kube_config_entry *e,
                               const char *key);

/* Resolve a path relative to the folder of the kubeconfig. */
const char *kube_config_entry_resolve(struct kube_config_loader *l,
                                      const struct kube_config_entry *e,
                                      const char *path);

/*
 * Read PEM from the field KEY-data, or else from the file that the field KEY
 * names. *ret stays NULL if the entry has neither.
 */
int kube_config_entry_read_pem(struct kube_config_loader *l,
                               const struct kube_config_entry *e,
                               const char *key, enum kube_pem kind,
                               const char **ret);

#endif
