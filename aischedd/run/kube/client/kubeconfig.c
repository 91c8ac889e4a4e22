/* kubeconfig.c - where an API server is, and how to authenticate */
#include "aischedd/run/kube/client/kubeconfig.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/kubeconfig_entry.h"
#include "aischedd/run/kube/client/kubeconfig_server.h"
#include "aischedd/run/kube/client/kubeconfig_user.h"
#include "aischedd/run/kube/client/yaml.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

static struct kube_config *config_new(void)
{
	struct arena *arena = arena_new();
	struct kube_config *c = arena_alloc(arena, 1, sizeof(*c));

	c->arena = arena;
	c->source = c->cluster = c->user = "";
	return c;
}

void kube_config_free(struct kube_config *config)
{
	if (config)
		arena_free(config->arena);
}

static bool add_text(struct kube_config_loader *l, const char *path,
                     const char *s, size_t len)
{
	struct kube_config_file *file = &l->file[l->n];

	file->path = kube_config_keep(l, path);
	file->tree = kube_yaml_parse(s, len, l->err);
	if (!file->tree) {
		err_wrap(l->err, "kubeconfig '%s'", path);
		return false;
	}
	l->n++;
	return true;
}

static bool add_file(struct kube_config_loader *l, const char *path)
{
	size_t len;
	const char *s = kube_file_read(path, l->config->arena, &len, l->err);

	if (s)
		return add_text(l, path, s, len);
	err_wrap(l->err, "kubeconfig");
	return false;
}

/* Read the files of a list as in $KUBECONFIG, "FILE:FILE". Files that do not
 * exist are skipped. Returns false if one cannot be read, or if none exists. */
static bool add_list(struct kube_config_loader *l, const char *list)
{
	while (*list && l->n < KUBECONFIG_FILES) {
		size_t len = strcspn(list, ":");
		char *path = xstrndup(list, len);
		bool bad = len && !add_file(l, path) && l->err->code != ENOENT;

		free(path);
		if (bad)
			return false;
		list += len + (list[len] == ':');
	}
	return l->n > 0;
}

/* If err is about a missing file, add to it what the user can do. */
static void advise(struct err *err, const char *what)
{
	struct err was = *err;

	if (was.code == ENOENT)
		err_set(err, ENOENT, "%s; %s", was.text, what);
}

static bool add_home(struct kube_config_loader *l, const char *home)
{
	char *path = xasprintf("%s/.kube/config", home);
	bool ok = add_file(l, path);

	free(path);
	return ok;
}

static int read_context(struct kube_config_loader *l, const char *name)
{
	struct kube_config_entry context, cluster, user;
	struct kube_config *c = l->config;
	char *source;

	if (kube_config_find_context(l, name, &context) < 0 ||
	    kube_config_find_named(l, &context, "clusters", "cluster",
	                           &cluster) < 0 ||
	    kube_config_find_named(l, &context, "users", "user", &user) < 0 ||
	    kube_config_read_cluster(l, &cluster) < 0 ||
	    kube_config_read_user(l, &user) < 0)
		return -1;
	source = xasprintf("kubeconfig '%s'", user.file->path);
	c->source = kube_config_keep(l, source);
	free(source);
	if (kube_config_entry_text(&context, "namespace"))
		c->namespace = kube_config_keep(
		    l, kube_config_entry_text(&context, "namespace"));
	return 0;
}

/* Free the loader. Returns its configuration if `ok`, else NULL. */
static struct kube_config *finish(struct kube_config_loader *l, bool ok)
{
	for (size_t i = 0; i < l->n; i++)
		json_decref(l->file[i].tree);
	if (ok)
		return l->config;
	kube_config_free(l->config);
	return NULL;
}

struct kube_config *kube_config_parse(const char *s, size_t len,
                                      const char *path, const char *context,
                                      struct err *err)
{
	struct kube_config_loader l = { .config = config_new(), .err = err };

	return finish(&l, add_text(&l, path, s, len) &&
	                      read_context(&l, context) == 0);
}

static int read_pod(struct kube_config *c, const char *folder, struct err *err)
{
	static const char *const names[] = { "token", "ca.crt", "namespace" };
	const char *text[ARRAY_SIZE(names)];
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path = xasprintf("%s/%s", folder, names[i]);

		text[i] = kube_file_read(path, c->arena, &len, err);
		free(path);
		if (!text[i])
			return -1;
	}
	c->token = kube_token(text[0], c->arena, err);
	if (!c->token)
		return err_wrap(err, "'%s/token'", folder);
	c->ca = text[1];
	if (kube_pem_check(c->ca, PEM_CERTIFICATE, err) < 0)
		return err_wrap(err, "'%s/ca.crt'", folder);
	c->namespace = kube_token(text[2], c->arena, NULL);
	return 0;
}

struct kube_config *kube_config_pod(const char *folder, const char *host,
                                    const char *port, struct err *err)
{
	struct kube_config *c = config_new();
	bool v6 = strchr(host, ':') && *host != '[';
	char *server =
	    xasprintf(v6 ? "https://[%s]:%s" : "https://%s:%s", host, port);

	c->source = "service account of this pod";
	c->in_pod = c->compress = true;
	if (kube_config_set_server(c, server, err) < 0 ||
	    read_pod(c, folder, err) < 0) {
		err_wrap(err, "service account");
		advise(err, "let the pod mount it, or name a kubeconfig");
		kube_config_free(c);
		c = NULL;
	}
	free(server);
	return c;
}

struct kube_config *kube_config_load(const char *path, const char *context,
                                     struct err *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
	struct kube_config_loader l = { .err = err };
	bool ok;

	if ((!path || !*path) && host && port)
		return kube_config_pod(KUBE_SERVICE_ACCOUNT, host, port, err);
	l.config = config_new();
	if (path && *path)
		ok = add_file(&l, path);
	else if (list && *list)
		ok = add_list(&l, list);
	else
		ok = add_home(&l, home ? home : "");
	if (!ok)
		advise(err, "name the right file as 'kubeconfig' of the pool");
	return finish(&l, ok && read_context(&l, context) == 0);
}

/* --- compare two configurations --- */

static void put(struct buf *out, const char *s)
{
	buf_puts(out, s ? s : "-");
	buf_addc(out, '\n');
}

static void describe(const struct kube_config *c, struct buf *out)
{
	buf_printf(out, "%d%d%d%d%d\n", c->tls, c->insecure, c->compress,
	           c->in_pod, c->plugin != NULL);
	put(out, c->source);
	put(out, c->cluster);
	put(out, c->user);
	put(out, c->server);
	put(out, c->namespace);
	put(out, c->tls_name);
	put(out, c->proxy);
	put(out, c->ca);
	put(out, c->cert);
	put(out, c->key);
	put(out, c->token);
	if (!c->plugin)
		return;
	for (size_t i = 0; c->plugin->argv[i]; i++)
		put(out, c->plugin->argv[i]);
	for (size_t i = 0; c->plugin->env[i]; i++)
		put(out, c->plugin->env[i]);
	put(out, c->plugin->api_version);
	put(out, c->plugin->wants_cluster ? "cluster" : NULL);
}

bool kube_config_same(const struct kube_config *a, const struct kube_config *b)
{
	struct buf one = { 0 }, other = { 0 };
	bool same;

	describe(a, &one);
	describe(b, &other);
	same = !strcmp(one.data, other.data);
	buf_free(&one);
	buf_free(&other);
	return same;
}
