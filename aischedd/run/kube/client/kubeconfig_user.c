/* kubeconfig_user.c - the credentials of a kubeconfig */
#include "aischedd/run/kube/client/kubeconfig_user.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/kubeconfig_entry.h"
#include "libcommon/mem.h"

static int read_token(struct kube_config_loader *l,
                      const struct kube_config_entry *e)
{
	struct kube_config *c = l->config;
	const char *path = kube_config_entry_text(e, "tokenFile"),
		   *token = kube_config_entry_text(e, "token");
	const char *key = path ? "tokenFile" : "token";
	size_t len;

	if (!path && !token)
		return 0;
	if (path) {
		path = kube_config_entry_resolve(l, e, path);
		token = kube_file_read(path, c->arena, &len, l->err);
	}
	if (token)
		c->token = kube_token(token, c->arena, l->err);
	if (c->token)
		return 0;
	err_wrap(l->err, "%s", key);
	return kube_config_entry_wrong(l, e);
}

/* Refuse options that would make us act as another user, and ways to
 * authenticate that are not supported. */
static int check_user(struct kube_config_loader *l,
                      const struct kube_config_entry *e)
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
		return kube_config_entry_wrong(l, e);
	}
	return 0;
}

/* Returns the command and its arguments; NULL if args has something other than
 * texts. */
static const char *const *read_argv(struct kube_config_loader *l,
                                    const char *command, const json_t *args)
{
	size_t n = json_array_size(args), at;
	const char **argv = arena_array(l->config->arena, const char *, n + 2);
	const json_t *arg;

	argv[0] = command;
	json_array_foreach(args, at, arg) {
		if (!json_is_string(arg))
			return NULL;
		argv[at + 1] = kube_config_keep(l, json_string_value(arg));
	}
	return argv;
}

static const char *const *read_env(struct kube_config_loader *l,
                                   const json_t *list)
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
		env[at] = kube_config_keep(l, both);
		free(both);
	}
	return env;
}

static int check_plugin(const struct kube_plugin *plugin,
                        const struct kube_config_entry *exec, struct err *err)
{
	const char *mode = kube_config_entry_text(exec, "interactiveMode");

	if (!plugin->argv || !plugin->env)
		return err_set(err, EINVAL,
		               "args must be a list of texts, and env a list "
		               "of name and value");
	if (!plugin->api_version ||
	    (strcmp(plugin->api_version, KUBE_PLUGIN_V1) &&
	     strcmp(plugin->api_version, KUBE_PLUGIN_V1BETA1)))
		return err_set(err, EINVAL,
		               "apiVersion '%s' is not supported; use %s",
		               plugin->api_version ? plugin->api_version : "",
		               KUBE_PLUGIN_V1);
	if (mode && !strcmp(mode, "Always"))
		return err_set(err, EINVAL,
		               "interactiveMode is Always, but the daemon "
		               "cannot ask anybody");
	return 0;
}

static int read_plugin(struct kube_config_loader *l,
                       const struct kube_config_entry *e)
{
	struct kube_config *c = l->config;
	struct kube_config_entry exec = *e;
	const char *command, *version, *hint;
	struct kube_plugin *plugin;

	exec.json = json_object_get(e->json, "exec");
	if (!exec.json)
		return 0;
	command = kube_config_entry_text(&exec, "command");
	version = kube_config_entry_text(&exec, "apiVersion");
	hint = kube_config_entry_text(&exec, "installHint");
	if (!command) {
		err_set(l->err, EINVAL, "exec: it has no command");
		return kube_config_entry_wrong(l, e);
	}
	command = strchr(command, '/')
	              ? kube_config_entry_resolve(l, e, command)
	              : kube_config_keep(l, command);
	plugin = arena_alloc(c->arena, 1, sizeof(*plugin));
	*plugin = (struct kube_plugin){
		.argv =
		    read_argv(l, command, json_object_get(exec.json, "args")),
		.env = read_env(l, json_object_get(exec.json, "env")),
		.api_version = version ? kube_config_keep(l, version) : NULL,
		.hint = hint ? kube_config_keep(l, hint) : NULL,
		.wants_cluster =
		    kube_config_entry_is_true(&exec, "provideClusterInfo"),
	};
	if (check_plugin(plugin, &exec, l->err) < 0) {
		err_wrap(l->err, "exec");
		return kube_config_entry_wrong(l, e);
	}
	/* As in kubectl, a token makes the program unnecessary. */
	if (!c->token)
		c->plugin = plugin;
	return 0;
}

int kube_config_read_user(struct kube_config_loader *l,
                          const struct kube_config_entry *e)
{
	struct kube_config *c = l->config;

	c->user = kube_config_keep(l, e->name);
	if (check_user(l, e) < 0 || read_token(l, e) < 0 ||
	    kube_config_entry_read_pem(l, e, "client-certificate",
	                               PEM_CERTIFICATE, &c->cert) < 0 ||
	    kube_config_entry_read_pem(l, e, "client-key", PEM_KEY, &c->key) <
	        0)
		return -1;
	if (!c->cert != !c->key) {
		err_set(l->err, EINVAL,
		        "client-certificate and client-key go together");
		return kube_config_entry_wrong(l, e);
	}
	return read_plugin(l, e);
}
