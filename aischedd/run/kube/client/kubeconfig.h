/*
 * kubeconfig.h - where an API server is, and as whom to talk to it
 *
 * One context of a kubeconfig, or the service account of the pod that the
 * daemon runs in, as plain data: files are read, base64 is decoded, relative
 * paths are resolved.  It never changes; to see changed files, load again and
 * compare.  Errors are one line: which file, which entry, what to do; err is
 * not NULL in these calls.
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_H
#define AISCHEDD_RUN_KUBE_CLIENT_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/err.h"

struct arena;

#define KUBE_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

#define KUBE_PLUGIN_V1      "client.authentication.k8s.io/v1"
#define KUBE_PLUGIN_V1BETA1 "client.authentication.k8s.io/v1beta1"

/* A program that prints credentials. */
struct kube_plugin {
	const char *const *argv; /* [0]: absolute, or looked for in PATH */
	const char *const *env;  /* NAME=VALUE to add */
	const char *api_version;
	const char *hint;   /* how to install it, or NULL */
	bool wants_cluster; /* is told server and CA */
};

struct kube_config {
	struct arena *arena;        /* owns all of it */
	const char *source;         /* "kubeconfig 'PATH'", for messages */
	const char *cluster, *user; /* entries; "" in a pod */
	const char *server;         /* as written */
	const char *host, *port;    /* IPv6 in brackets */
	const char *prefix;         /* "", or "/some/path" before every path */
	const char *namespace;      /* of the context, or NULL */
	bool tls;                   /* false: plain HTTP, no credentials */
	bool insecure;              /* any certificate will do */
	bool compress;
	bool in_pod;
	const char *tls_name; /* that the certificate must have, if not host */
	const char *proxy;    /* NULL: as the environment says */
	const char *ca;       /* PEM; NULL: the system's */
	const char *cert, *key;           /* PEM, or NULL */
	const char *token;                /* or NULL */
	const struct kube_plugin *plugin; /* or NULL: none, or not needed */
	const char *warning; /* what an admin should know, or NULL */
};

/*
 * path: a kubeconfig; NULL or "" is the pod's service account when there is
 * one, else $KUBECONFIG (several between colons), else ~/.kube/config.
 * context: NULL or "" is its current one.  Reads small local files.
 * Fails: EINVAL, ENOENT or another errno of open.
 */
struct kube_config *kube_config_load(const char *path, const char *context,
                                     struct err *err);

/* The service account of a pod: its folder, and where the server is. */
struct kube_config *kube_config_pod(const char *folder, const char *host,
                                    const char *port, struct err *err);

/* A kubeconfig from text, which names itself path; for tests. */
struct kube_config *kube_config_parse(const char *text, size_t len,
                                      const char *path, const char *context,
                                      struct err *err);

bool kube_config_same(const struct kube_config *a, const struct kube_config *b);
void kube_config_free(struct kube_config *config); /* NULL is fine */

#endif
