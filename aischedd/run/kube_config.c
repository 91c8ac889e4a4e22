/* kube_config.c - where an API server is, and as whom to talk to it */
#include "aischedd/run/kube_config.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube_file.h"
#include "aischedd/run/kube_yaml.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

enum { MAX_FILES = 8, MAX_WORDS = 256 };

/* One kubeconfig; several are as if they were one, the first wins. */
struct file {
	const char *path;
	json_t *tree;
};

struct loader {
	struct kube_config *config;
	struct file file[MAX_FILES];
	size_t n;
	struct err *err;
};

/* An entry of a list like clusters, and the file that it is from. */
struct entry {
	const struct file *file;
	const char *kind, *name; /* "cluster", "kind-a" */
	const json_t *json;
};

static const char *keep(struct loader *l, const char *s)
{
	return arena_strdup(l->config->arena, s);
}

/* Put the entry before what is wrong with it; returns -1. */
static int wrong(struct loader *l, const struct entry *e)
{
	err_wrap(l->err, "%s '%s'", e->kind, e->name);
	return err_wrap(l->err, "kubeconfig '%s'", e->file->path);
}

/* --- values of an entry --- */

/* NULL: it is absent, null, empty, or no text. */
static const char *text(const struct entry *e, const char *key)
{
	const char *s = json_string_value(json_object_get(e->json, key));

	return s && *s ? s : NULL;
}

static bool is_true(const struct entry *e, const char *key)
{
	const char *s = text(e, key);

	return s && (!strcmp(s, "true") || !strcmp(s, "True"));
}

/* Relative to the folder of the kubeconfig. */
static const char *resolve(struct loader *l, const struct entry *e,
                           const char *path)
{
	const char *slash = strrchr(e->file->path, '/');
	const char *ret;
	char *joined;

	if (*path == '/' || !slash)
		return keep(l, path);
	joined = xasprintf("%.*s/%s", (int)(slash - e->file->path),
	                   e->file->path, path);
	ret = keep(l, joined);
	free(joined);
	return ret;
}

/*
 * PEM from KEY-data or else from the file that KEY names; *ret stays NULL
 * when there is neither.
 */
static int read_pem(struct loader *l, const struct entry *e, const char *key,
                    enum kube_pem kind, const char **ret)
{
	struct arena *arena = l->config->arena;
	char data_key[40];
	const char *data, *path, *pem;
	size_t len;

	snprintf(data_key, sizeof(data_key), "%s-data", key);
	data = text(e, data_key);
	path = text(e, key);
	if (data) {
		pem = kube_base64(data, arena, l->err);
		if (!pem || kube_pem_check(pem, kind, l->err) < 0) {
			err_wrap(l->err, "%s", data_key);
			return wrong(l, e);
		}
		*ret = pem;
	} else if (path) {
		path = resolve(l, e, path);
		pem = kube_file_read(path, arena, &len, l->err);
		if (pem && kube_pem_check(pem, kind, l->err) < 0) {
			err_wrap(l->err, "'%s'", path);
			pem = NULL;
		}
		if (!pem) {
			err_wrap(l->err, "%s", key);
			return wrong(l, e);
		}
		*ret = pem;
	}
	return 0;
}

/* --- finding entries --- */

static const json_t *list_of(const struct file *file, const char *list)
{
	return json_object_get(file->tree, list);
}

/* Names of all entries of a list, "a, b". */
static void name_all(const struct loader *l, const char *list, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++) {
		const json_t *item;
		size_t at;

		json_array_foreach(list_of(&l->file[i], list), at, item) {
			const char *name =
			    json_string_value(json_object_get(item, "name"));

			buf_printf(out, "%s%s", out->len ? ", " : "",
			           name ? name : "?");
		}
	}
	if (!out->len)
		buf_puts(out, "none");
}

static bool find(const struct loader *l, const char *list, const char *kind,
                 const char *name, struct entry *ret)
{
	for (size_t i = 0; i < l->n; i++) {
		const json_t *item;
		size_t at;

		json_array_foreach(list_of(&l->file[i], list), at, item) {
			const char *has =
			    json_string_value(json_object_get(item, "name"));

			if (!has || strcmp(has, name))
				continue;
			*ret = (struct entry){ &l->file[i], kind, has,
				               json_object_get(item, kind) };
			return true;
		}
	}
	return false;
}

/* The entry that the context names. */
static int find_named(struct loader *l, const struct entry *context,
                      const char *list, const char *kind, struct entry *ret)
{
	const char *name = text(context, kind);

	if (!name) {
		err_set(l->err, EINVAL, "it names no %s", kind);
		return wrong(l, context);
	}
	if (!find(l, list, kind, name, ret)) {
		err_set(l->err, EINVAL, "it names %s '%s', which is not there",
		        kind, name);
		return wrong(l, context);
	}
	return 0;
}

static int find_context(struct loader *l, const char *name, struct entry *ret)
{
	struct buf all = { 0 };

	for (size_t i = 0; i < l->n && (!name || !*name); i++)
		name = json_string_value(
		    json_object_get(l->file[i].tree, "current-context"));
	if (name && *name && find(l, "contexts", "context", name, ret))
		return 0;
	name_all(l, "contexts", &all);
	if (name && *name)
		err_set(l->err, EINVAL,
		        "there is no context '%s'; there are: %s", name,
		        all.data);
	else
		err_set(l->err, EINVAL,
		        "it has no current-context; name one of: %s", all.data);
	buf_free(&all);
	return err_wrap(l->err, "kubeconfig '%s'", l->file[0].path);
}

/* --- the server --- */

/* A part of the URL into the arena; NULL: it has none. */
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

/* A host name or address, for it becomes part of an URL. */
static bool is_host(const char *s)
{
	return !s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw"
	                    "xyz0123456789.-:[]")];
}

static int set_server(struct kube_config *c, const char *server,
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
		        "server '%s' is no address like https://HOST:6443",
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

static void warn(struct loader *l, const struct entry *e, const char *what)
{
	struct kube_config *c = l->config;
	char *s = xasprintf("kubeconfig '%s': %s '%s': %s", e->file->path,
	                    e->kind, e->name, what);

	c->warning = keep(l, s);
	free(s);
}

static int read_cluster(struct loader *l, const struct entry *e)
{
	struct kube_config *c = l->config;
	const char *server = text(e, "server");
	const char *proxy = text(e, "proxy-url");
	const char *tls_name = text(e, "tls-server-name");

	c->cluster = keep(l, e->name);
	if (!server) {
		err_set(l->err, EINVAL, "it has no server");
		return wrong(l, e);
	}
	if (set_server(c, server, l->err) < 0)
		return wrong(l, e);
	c->proxy = proxy ? keep(l, proxy) : NULL;
	c->tls_name = tls_name ? keep(l, tls_name) : NULL;
	c->compress = !is_true(e, "disable-compression");
	c->insecure = is_true(e, "insecure-skip-tls-verify");
	if (tls_name && !is_host(tls_name)) {
		err_set(l->err, EINVAL, "tls-server-name '%s' is no host name",
		        tls_name);
		return wrong(l, e);
	}
	if (read_pem(l, e, "certificate-authority", PEM_CERTIFICATE, &c->ca) <
	    0)
		return -1;
	if (c->insecure && c->ca) {
		err_set(l->err, EINVAL,
		        "insecure-skip-tls-verify and a certificate-authority; "
		        "remove one of them");
		return wrong(l, e);
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

/* --- the user --- */

static int read_token(struct loader *l, const struct entry *e)
{
	struct kube_config *c = l->config;
	const char *path = text(e, "tokenFile"), *token = text(e, "token");
	const char *key = path ? "tokenFile" : "token";
	size_t len;

	if (!path && !token)
		return 0;
	if (path) {
		path = resolve(l, e, path);
		token = kube_file_read(path, c->arena, &len, l->err);
	}
	if (token)
		c->token = kube_token(token, c->arena, l->err);
	if (c->token)
		return 0;
	err_wrap(l->err, "%s", key);
	return wrong(l, e);
}

/* What would make us another user than the entry says is refused. */
static int check_user(struct loader *l, const struct entry *e)
{
	static const char *const unknown[] = { "as",           "as-uid",
		                               "as-groups",    "as-user-extra",
		                               "username",     "password",
		                               "auth-provider" };

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		if (!json_object_get(e->json, unknown[i]))
			continue;
		err_set(l->err, EINVAL,
		        "'%s' is not supported; use a token, tokenFile, client "
		        "certificate or exec",
		        unknown[i]);
		return wrong(l, e);
	}
	return 0;
}

/* The command and its arguments; NULL: that is no list of texts. */
static const char *const *read_argv(struct loader *l, const char *command,
                                    const json_t *args)
{
	size_t n = json_array_size(args), at;
	const char **argv = arena_array(l->config->arena, const char *, n + 2);
	const json_t *arg;

	argv[0] = command;
	json_array_foreach(args, at, arg) {
		if (!json_is_string(arg))
			return NULL;
		argv[at + 1] = keep(l, json_string_value(arg));
	}
	return argv;
}

static const char *const *read_env(struct loader *l, const json_t *list)
{
	size_t n = json_array_size(list), at;
	const char **env = arena_array(l->config->arena, const char *, n + 1);
	json_t *item;

	json_array_foreach(list, at, item) {
		const char *name, *value;
		char *both;

		if (json_unpack(item, "{s:s s:s}", "name", &name, "value",
		                &value) < 0)
			return NULL;
		both = xasprintf("%s=%s", name, value);
		env[at] = keep(l, both);
		free(both);
	}
	return env;
}

static int check_plugin(const struct kube_plugin *plugin,
                        const struct entry *exec, struct err *err)
{
	const char *mode = text(exec, "interactiveMode");

	if (!plugin->argv || !plugin->env)
		return err_set(err, EINVAL,
		               "args is no list of texts, or env no list of "
		               "name and value");
	if (!plugin->api_version ||
	    (strcmp(plugin->api_version, KUBE_PLUGIN_V1) &&
	     strcmp(plugin->api_version, KUBE_PLUGIN_V1BETA1)))
		return err_set(err, EINVAL,
		               "apiVersion '%s' is not supported; use %s",
		               plugin->api_version ? plugin->api_version : "",
		               KUBE_PLUGIN_V1);
	if (mode && !strcmp(mode, "Always"))
		return err_set(err, EINVAL,
		               "interactiveMode is Always, and there is nobody "
		               "to ask");
	return 0;
}

static int read_plugin(struct loader *l, const struct entry *e)
{
	struct kube_config *c = l->config;
	struct entry exec = *e;
	const char *command, *version, *hint;
	struct kube_plugin *plugin;

	exec.json = json_object_get(e->json, "exec");
	if (!exec.json)
		return 0;
	command = text(&exec, "command");
	version = text(&exec, "apiVersion");
	hint = text(&exec, "installHint");
	if (!command) {
		err_set(l->err, EINVAL, "exec: it has no command");
		return wrong(l, e);
	}
	command =
	    strchr(command, '/') ? resolve(l, e, command) : keep(l, command);
	plugin = arena_alloc(c->arena, 1, sizeof(*plugin));
	*plugin = (struct kube_plugin){
		.argv =
		    read_argv(l, command, json_object_get(exec.json, "args")),
		.env = read_env(l, json_object_get(exec.json, "env")),
		.api_version = version ? keep(l, version) : NULL,
		.hint = hint ? keep(l, hint) : NULL,
		.wants_cluster = is_true(&exec, "provideClusterInfo"),
	};
	if (check_plugin(plugin, &exec, l->err) < 0) {
		err_wrap(l->err, "exec");
		return wrong(l, e);
	}
	/* As kubectl does: who has a token needs no program. */
	if (!c->token)
		c->plugin = plugin;
	return 0;
}

static int read_user(struct loader *l, const struct entry *e)
{
	struct kube_config *c = l->config;

	c->user = keep(l, e->name);
	if (check_user(l, e) < 0 || read_token(l, e) < 0 ||
	    read_pem(l, e, "client-certificate", PEM_CERTIFICATE, &c->cert) <
	        0 ||
	    read_pem(l, e, "client-key", PEM_KEY, &c->key) < 0)
		return -1;
	if (!c->cert != !c->key) {
		err_set(l->err, EINVAL,
		        "client-certificate and client-key go together");
		return wrong(l, e);
	}
	return read_plugin(l, e);
}

/* --- the whole --- */

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

static bool add_text(struct loader *l, const char *path, const char *s,
                     size_t len)
{
	struct file *file = &l->file[l->n];

	file->path = keep(l, path);
	file->tree = kube_yaml_parse(s, len, l->err);
	if (!file->tree) {
		err_wrap(l->err, "kubeconfig '%s'", path);
		return false;
	}
	l->n++;
	return true;
}

static bool add_file(struct loader *l, const char *path)
{
	size_t len;
	const char *s = kube_file_read(path, l->config->arena, &len, l->err);

	if (s)
		return add_text(l, path, s, len);
	err_wrap(l->err, "kubeconfig");
	return false;
}

/* As in $KUBECONFIG; files that do not exist are passed over. */
static bool add_list(struct loader *l, const char *list)
{
	while (*list && l->n < MAX_FILES) {
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

/* Say what to do about a file that is not there. */
static void advise(struct err *err, const char *what)
{
	struct err was = *err;

	if (was.code == ENOENT)
		err_set(err, ENOENT, "%s; %s", was.text, what);
}

static bool add_home(struct loader *l, const char *home)
{
	char *path = xasprintf("%s/.kube/config", home);
	bool ok = add_file(l, path);

	free(path);
	return ok;
}

static int read_context(struct loader *l, const char *name)
{
	struct entry context, cluster, user;
	struct kube_config *c = l->config;
	char *source;

	if (find_context(l, name, &context) < 0 ||
	    find_named(l, &context, "clusters", "cluster", &cluster) < 0 ||
	    find_named(l, &context, "users", "user", &user) < 0 ||
	    read_cluster(l, &cluster) < 0 || read_user(l, &user) < 0)
		return -1;
	source = xasprintf("kubeconfig '%s'", user.file->path);
	c->source = keep(l, source);
	free(source);
	if (text(&context, "namespace"))
		c->namespace = keep(l, text(&context, "namespace"));
	return 0;
}

/* Ends the loader; returns its configuration, NULL when it failed. */
static struct kube_config *finish(struct loader *l, bool ok)
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
	struct loader l = { .config = config_new(), .err = err };

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
	if (set_server(c, server, err) < 0 || read_pod(c, folder, err) < 0) {
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
	struct loader l = { .err = err };
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

/* --- comparing --- */

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
