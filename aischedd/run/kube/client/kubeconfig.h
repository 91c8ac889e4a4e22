/*
 * kubeconfig.h - where an API server is, and how to authenticate
 *
 * A kube_config is one context of a kubeconfig, or the service account of the
 * pod that the daemon runs in, as plain data: files are read, base64 is
 * decoded, relative paths are resolved. It never changes; to notice changed
 * files, load a new one and compare. Errors are one line: which file, which
 * entry, what to do. err must not be NULL.
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
	const char *const *argv; /* [0]: absolute, or searched in PATH */
	/* NAME=VALUE, to be added to the daemon's environment */
	const char *const *env;
	const char *api_version;
	const char *hint;   /* how to install it, or NULL */
	bool wants_cluster; /* it is to be told the server and its CA */
};

struct kube_config {
	struct arena *arena;        /* owns everything here */
	const char *source;         /* "kubeconfig 'PATH'", for messages */
	const char *cluster, *user; /* names of the entries; "" in a pod */
	const char *server;         /* URL as written */
	const char *host, *port;    /* IPv6 in brackets */
	/* path before the path of each request, "/some/path"; or "" */
	const char *prefix;
	const char *namespace; /* namespace of the context, or NULL */
	bool tls;              /* false: plain HTTP, no credentials */
	bool insecure;         /* accept any certificate */
	bool compress;
	bool in_pod;
	const char *tls_name; /* name in the certificate, if not host */
	/* NULL: the kubeconfig has none, so libcurl looks in the environment */
	const char *proxy;
	const char *ca;         /* PEM; NULL: the system's */
	const char *cert, *key; /* PEM, or NULL */
	const char *token;      /* bearer token, or NULL */
	/* NULL: there is none, or it is not needed */
	const struct kube_plugin *plugin;
	const char *warning; /* a warning for the admin, or NULL */
};

/*
 * Load one context of a kubeconfig. path: NULL or "" is the pod's service
 * account if there is one, else $KUBECONFIG (several files between colons),
 * else ~/.kube/config. context: NULL or "" is the current context of the
 * kubeconfig. Reads small files, and blocks while their file server does not
 * answer. Fails with EINVAL, ENOENT or another errno of open.
 */
struct kube_config *kube_config_load(const char *path, const char *context,
                                     struct err *err);

/* Load a pod's service account from its folder; host, port: the server. */
struct kube_config *kube_config_pod(const char *folder, const char *host,
                                    const char *port, struct err *err);

/* Parse a kubeconfig, called `path` in messages; for tests. */
struct kube_config *kube_config_parse(const char *text, size_t len,
                                      const char *path, const char *context,
                                      struct err *err);

bool kube_config_same(const struct kube_config *a, const struct kube_config *b);
void kube_config_free(struct kube_config *config); /* NULL is allowed */

#endif
