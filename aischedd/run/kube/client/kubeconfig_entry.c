/* kubeconfig_entry.c - find and read the entries of a kubeconfig */
#include "aischedd/run/kube/client/kubeconfig_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

const char *kube_config_keep(struct kube_config_loader *l, const char *s)
{
	return arena_strdup(l->config->arena, s);
}

int kube_config_entry_wrong(struct kube_config_loader *l,
                            const struct kube_config_entry *e)
{
	err_wrap(l->err, "%s '%s'", e->kind, e->name);
	return err_wrap(l->err, "kubeconfig '%s'", e->file->path);
}

/* --- values of an entry --- */

const char *kube_config_entry_text(const struct kube_config_entry *e,
                                   const char *key)
{
	const char *s = kube_text_at(e->json, key);

	return s && *s ? s : NULL;
}

bool kube_config_entry_is_true(const struct kube_config_entry *e,
                               const char *key)
{
	const char *s = kube_config_entry_text(e, key);

	return s && (!strcmp(s, "true") || !strcmp(s, "True"));
}

const char *kube_config_entry_resolve(struct kube_config_loader *l,
                                      const struct kube_config_entry *e,
                                      const char *path)
{
	const char *slash = strrchr(e->file->path, '/');
	const char *ret;
	char *joined;

	if (*path == '/' || !slash)
		return kube_config_keep(l, path);
	joined = xasprintf("%.*s/%s", (int)(slash - e->file->path),
	                   e->file->path, path);
	ret = kube_config_keep(l, joined);
	free(joined);
	return ret;
}

int kube_config_entry_read_pem(struct kube_config_loader *l,
                               const struct kube_config_entry *e,
                               const char *key, enum kube_pem kind,
                               const char **ret)
{
	struct arena *arena = l->config->arena;
	char data_key[40];
	const char *data, *path, *pem;
	size_t len;

	snprintf(data_key, sizeof(data_key), "%s-data", key);
	data = kube_config_entry_text(e, data_key);
	path = kube_config_entry_text(e, key);
	if (data) {
		pem = kube_base64(data, arena, l->err);
		if (!pem || kube_pem_check(pem, kind, l->err) < 0) {
			err_wrap(l->err, "%s", data_key);
			return kube_config_entry_wrong(l, e);
		}
		*ret = pem;
	} else if (path) {
		path = kube_config_entry_resolve(l, e, path);
		pem = kube_file_read(path, arena, &len, l->err);
		if (pem && kube_pem_check(pem, kind, l->err) < 0) {
			err_wrap(l->err, "'%s'", path);
			pem = NULL;
		}
		if (!pem) {
			err_wrap(l->err, "%s", key);
			return kube_config_entry_wrong(l, e);
		}
		*ret = pem;
	}
	return 0;
}

/* --- find entries --- */

static const json_t *list_of(const struct kube_config_file *file,
                             const char *list)
{
	return json_object_get(file->tree, list);
}

/* Append the names of all entries of a list, such as clusters: "a, b". */
static void name_all(const struct kube_config_loader *l, const char *list,
                     struct buf *out)
{
	for (size_t i = 0; i < l->n; i++) {
		const json_t *item;
		size_t at;

		json_array_foreach(list_of(&l->file[i], list), at, item) {
			const char *name = kube_text_at(item, "name");

			buf_printf(out, "%s%s", out->len ? ", " : "",
			           name ? name : "?");
		}
	}
	if (!out->len)
		buf_puts(out, "none");
}

static bool find(const struct kube_config_loader *l, const char *list,
                 const char *kind, const char *name,
                 struct kube_config_entry *ret)
{
	for (size_t i = 0; i < l->n; i++) {
		const json_t *item;
		size_t at;

		json_array_foreach(list_of(&l->file[i], list), at, item) {
			const char *has = kube_text_at(item, "name");

			if (!has || strcmp(has, name))
				continue;
			*ret =
			    (struct kube_config_entry){ &l->file[i], kind, has,
				                        json_object_get(item,
				                                        kind) };
			return true;
		}
	}
	return false;
}

int kube_config_find_named(struct kube_config_loader *l,
                           const struct kube_config_entry *context,
                           const char *list, const char *kind,
                           struct kube_config_entry *ret)
{
	const char *name = kube_config_entry_text(context, kind);

	if (!name) {
		err_set(l->err, EINVAL, "it names no %s", kind);
		return kube_config_entry_wrong(l, context);
	}
	if (!find(l, list, kind, name, ret)) {
		err_set(l->err, EINVAL, "it names %s '%s', which is not there",
		        kind, name);
		return kube_config_entry_wrong(l, context);
	}
	return 0;
}

int kube_config_find_context(struct kube_config_loader *l, const char *name,
                             struct kube_config_entry *ret)
{
	struct buf all = { 0 };

	for (size_t i = 0; i < l->n && (!name || !*name); i++)
		name = kube_text_at(l->file[i].tree, "current-context");
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
