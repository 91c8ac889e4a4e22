/*
 * kubeconfig_entry.h - the insides of a kubeconfig: what its readers share
 *
 * config.c reads files and takes one context; config_server.c and
 * config_user.c are what that context names.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_ENTRY_H
#define AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_ENTRY_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/run/kube/client/file.h"
#include "aischedd/run/kube/client/kubeconfig.h"

enum { KUBECONFIG_FILES = 8 };

/* One file; several are as if they were one, the first wins. */
struct kubeconfig {
	const char *path;
	json_t *tree;
};

struct loader {
	struct kube_config *config;
	struct kubeconfig file[KUBECONFIG_FILES];
	size_t n;
	struct err *err;
};

/* An entry of a list like clusters, and the file that it is from. */
struct entry {
	const struct kubeconfig *file;
	const char *kind, *name; /* "cluster", "kind-a" */
	const json_t *json;
};

/* Into the arena of its configuration. */
const char *loader_keep(struct loader *l, const char *s);

/* NULL or "": the current one.  Both say what is wrong, and return -1. */
int loader_find_context(struct loader *l, const char *name, struct entry *ret);

/* The entry that the context names. */
int loader_find_named(struct loader *l, const struct entry *context,
                      const char *list, const char *kind, struct entry *ret);

/* Put the entry before what is wrong with it; returns -1. */
int entry_wrong(struct loader *l, const struct entry *e);

/* NULL: it is absent, null, empty, or no text. */
const char *entry_text(const struct entry *e, const char *key);
bool entry_is_true(const struct entry *e, const char *key);

/* A path is relative to the folder of the kubeconfig. */
const char *entry_resolve(struct loader *l, const struct entry *e,
                          const char *path);

/*
 * PEM from KEY-data or else from the file that KEY names; *ret stays NULL
 * when there is neither.
 */
int entry_read_pem(struct loader *l, const struct entry *e, const char *key,
                   enum kube_pem kind, const char **ret);

/* --- config_server.c --- */

int kube_config_set_server(struct kube_config *c, const char *server,
                           struct err *err);
int kube_config_read_cluster(struct loader *l, const struct entry *e);

/* --- config_user.c --- */

int kube_config_read_user(struct loader *l, const struct entry *e);

#endif
