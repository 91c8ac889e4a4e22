/* kubeconfig_server.c - the server of a kubeconfig */
#include "aischedd/run/kube/client/kubeconfig_server.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/kubeconfig_entry.h"
#include "libcommon/mem.h"

/* Copy a part of the URL into the arena; returns NULL if it is absent. */
static const char *url_part(struct kube_config *c, CURLU *url, CURLUPart part)
{
	const char *ret = NULL;
	char *s;

	if (curl_url_get(url, part, &s, CURLU_DEFAULT_PORT) == CURLUE_OK) {
		ret = arena_strdup(c->arena, s);
		curl_free(s);
	}
	return ret;
}

/* Whether s is a host name or address that can be put into a URL. */
static bool is_host(const char *s)
{
	return !s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw"
	                    "xyz0123456789.-:[]")];
}

int kube_config_set_server(struct kube_config *c, const char *server,
                           struct err *err)
{
	CURLU *url = curl_url();
	const char *scheme;
	size_t len;
	char *path;
	int rc = -1;

	c->server = arena_strdup(c->arena, server);
	if (!url || curl_url_set(url, CURLUPART_URL, server, 0) != CURLUE_OK ||
	    !(scheme = url_part(c, url, CURLUPART_SCHEME)) ||
	    (strcmp(scheme, "https") && strcmp(scheme, "http")) ||
	    url_part(c, url, CURLUPART_USER) ||
	    url_part(c, url, CURLUPART_QUERY) ||
	    url_part(c, url, CURLUPART_FRAGMENT)) {
		err_set(err, EINVAL,
		        "server '%s' is not an address like https://HOST:6443",
		        server);
		goto out;
	}
	c->tls = !strcmp(scheme, "https");
	c->host = url_part(c, url, CURLUPART_HOST);
	c->port = url_part(c, url, CURLUPART_PORT);
	path = arena_strdup(c->arena, url_part(c, url, CURLUPART_PATH));
	for (len = strlen(path); len > 0 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	c->prefix = path;
	rc = 0;
out:
	curl_url_cleanup(url);
	return rc;
}

static void warn(struct kube_config_loader *l,
                 const struct kube_config_entry *e, const char *what)
{
	struct kube_config *c = l->config;
	char *s = xasprintf("kubeconfig '%s': %s '%s': %s", e->file->path,
	                    e->kind, e->name, what);

	c->warning = kube_config_keep(l, s);
	free(s);
}

int kube_config_read_cluster(struct kube_config_loader *l,
                             const struct kube_config_entry *e)
{
	struct kube_config *c = l->config;
	const char *server = kube_config_entry_text(e, "server");
	const char *proxy = kube_config_entry_text(e, "proxy-url");
	const char *tls_name = kube_config_entry_text(e, "tls-server-name");

	c->cluster = kube_config_keep(l, e->name);
	if (!server) {
		err_set(l->err, EINVAL, "it has no server");
		return kube_config_entry_wrong(l, e);
	}
	if (kube_config_set_server(c, server, l->err) < 0)
		return kube_config_entry_wrong(l, e);
	c->proxy = proxy ? kube_config_keep(l, proxy) : NULL;
	c->tls_name = tls_name ? kube_config_keep(l, tls_name) : NULL;
	c->compress = !kube_config_entry_is_true(e, "disable-compression");
	c->insecure = kube_config_entry_is_true(e, "insecure-skip-tls-verify");
	if (tls_name && !is_host(tls_name)) {
		err_set(l->err, EINVAL,
		        "tls-server-name '%s' is not a host name", tls_name);
		return kube_config_entry_wrong(l, e);
	}
	if (kube_config_entry_read_pem(l, e, "certificate-authority",
	                               PEM_CERTIFICATE, &c->ca) < 0)
		return -1;
	if (c->insecure && c->ca) {
		err_set(l->err, EINVAL,
		        "insecure-skip-tls-verify and a certificate-authority; "
		        "remove one of them");
		return kube_config_entry_wrong(l, e);
	}
	if (c->insecure && c->tls)
		warn(l, e,
		     "insecure-skip-tls-verify: whoever answers in place of "
		     "the API server gets the credentials");
	if (!c->tls)
		warn(l, e,
		     "the server is http://: nothing is encrypted, and no "
		     "credentials are sent");
	return 0;
}
