/* mount.c - volumes of pods: those of --mount, and the working directory */
#include "aischedd/run/kube/object/mount.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/mem.h"

#define WORK_DIR "/aisched/work"

/* Add a volume and mount it at path. sub: the folder of the volume to mount;
 * "": its root. Takes source. */
static void add_volume(struct kube_volumes *v, const char *path,
                       const char *sub, const char *kind, json_t *source,
                       bool read_only)
{
	json_t *mount;
	char name[16];

	snprintf(name, sizeof(name), "v%u", v->n++);
	json_array_append_new(
	    v->volumes, json_pack("{s:s, s:o}", "name", name, kind, source));
	mount = json_pack("{s:s, s:s, s:b}", "name", name, "mountPath", path,
	                  "readOnly", read_only);
	if (*sub)
		json_object_set_new(mount, "subPath", json_string(sub));
	json_array_append_new(v->mounts, mount);
}

void kube_volumes_add(struct kube_volumes *v, const char *path,
                      const char *kind, json_t *source, bool read_only)
{
	add_volume(v, path, "", kind, source, read_only);
}

/* Returns the length of the part of a pattern up to the '/' before its first
 * wildcard; the whole length if it has none. */
static size_t fixed_part(const char *pattern)
{
	size_t len = strcspn(pattern, "*?[\\");

	while (pattern[len] && len && pattern[len - 1] != '/')
		len--;
	return len;
}

/*
 * Whether users may mount source, a folder of the host or a claim ("pvc:NAME"):
 * it matches an allowed pattern, or is a folder below an allowed one. Sets
 * *ret_top to the length of the part of source that the pattern names without
 * wildcards.
 */
static bool is_allowed(const struct strlist *allowed, const char *source,
                       size_t *ret_top)
{
	bool claim = !strncmp(source, "pvc:", 4);

	for (size_t i = 0; i < allowed->n; i++) {
		const char *s = allowed->s[i];
		size_t len = strlen(s);

		*ret_top = fixed_part(s);
		if (!fnmatch(s, source, FNM_PATHNAME))
			return true;
		if (!claim && !strncmp(s, source, len) && source[len] == '/')
			return true;
	}
	return false;
}

/*
 * Mount a folder of the host. Users may have put links into an allowed folder.
 * So the volume is only the part of the path that the admin has named, and the
 * rest is a subPath: the kubelet ensures that a subPath does not lead out of
 * its volume.
 */
static void add_folder(struct kube_volumes *v, const char *source, size_t top,
                       const char *path, bool read_only)
{
	const char *sub = source + top;
	char *folder;

	while (top > 1 && source[top - 1] == '/')
		top--;
	folder = xstrndup(source, top ? top : 1);
	add_volume(v, path, sub + strspn(sub, "/"), "hostPath",
	           json_pack("{s:s}", "path", folder), read_only);
	free(folder);
}

/* A mount of --mount. The strings are in the list's text, which the caller
 * frees. */
struct wanted_mount {
	const char *source, *path;
	bool claim, read_only;
};

/* Whether ".." is a part of the path, as in "/data/..". */
static bool goes_up(const char *path)
{
	for (const char *s = path; (s = strstr(s, "/..")); s += 3)
		if (s[3] == '/' || !s[3])
			return true;
	return false;
}

/* Parse "/data", "/data:/mnt" or "pvc:NAME:/mnt", perhaps followed by ":ro".
 * Changes text, and makes the strings of ret point into it. Returns false if
 * the text is malformed. */
static bool parse_mount(char *text, struct wanted_mount *ret)
{
	size_t len = strlen(text);
	char *colon;

	ret->read_only = len > 3 && !strcmp(text + len - 3, ":ro");
	if (ret->read_only)
		text[len - 3] = '\0';
	ret->claim = !strncmp(text, "pvc:", 4);
	ret->source = ret->claim ? text + 4 : text;
	colon = strchr(ret->source, ':');
	ret->path = colon ? colon + 1 : text;
	if (colon)
		*colon = '\0';
	return (ret->claim || *ret->source == '/') && *ret->path == '/' &&
	       !strchr(ret->path, ':') && !goes_up(ret->source) &&
	       !goes_up(ret->path);
}

static int add_mount(struct kube_volumes *v, const struct conf_pool *pool,
                     const char *text, struct err *err)
{
	char *copy = xstrdup(text), *asked;
	struct wanted_mount m;
	size_t top;
	int rc = 0;

	if (!parse_mount(copy, &m)) {
		free(copy);
		return err_set(err, EINVAL,
		               "mount '%s': use PATH[:PATH][:ro] or "
		               "pvc:CLAIM:PATH[:ro]",
		               text);
	}
	asked = xasprintf("%s%s", m.claim ? "pvc:" : "", m.source);
	if (!is_allowed(&pool->allow_mounts, asked, &top))
		rc = err_set(err, EINVAL,
		             "mount '%s': pool '%s' does not allow it (its "
		             "allow_mounts)",
		             asked, pool->name);
	else if (m.claim)
		kube_volumes_add(v, m.path, "persistentVolumeClaim",
		                 json_pack("{s:s}", "claimName", m.source),
		                 m.read_only);
	else
		add_folder(v, m.source, top, m.path, m.read_only);
	free(asked);
	free(copy);
	return rc;
}

int kube_volumes_mount(struct kube_volumes *v, const struct conf_pool *pool,
                       const char *list, struct err *err)
{
	char *copy = xstrdup(list ? list : ""), *rest = copy, *one;
	int rc = 0;

	while (rc == 0 && (one = strsep(&rest, ",")))
		if (*one)
			rc = add_mount(v, pool, one, err);
	free(copy);
	return rc;
}

static bool is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	while (len > 1 && top[len - 1] == '/')
		len--;
	return !strncmp(path, top, len) &&
	       (!path[len] || path[len] == '/' || len == 1);
}

const char *kube_volumes_workdir(struct kube_volumes *v, const char *path)
{
	static const char *const systems[] = { "/bin",    "/dev", "/etc",
		                               "/lib",    "/opt", "/proc",
		                               "/sbin",   "/sys", "/usr",
		                               "/aisched" };
	const json_t *mount;
	size_t i;

	json_array_foreach(v->mounts, i, mount)
		if (is_below(path, kube_text_at(mount, "mountPath")))
			return path;
	for (i = 0; i < ARRAY_SIZE(systems); i++)
		if (is_below(path, systems[i]))
			path = WORK_DIR;
	if (!strcmp(path, "/"))
		path = WORK_DIR;
	kube_volumes_add(v, path, "emptyDir", json_object(), false);
	return path;
}

bool kube_mount_find(const char *list, const char *path,
                     struct kube_mount_file *ret)
{
	char *copy = xstrdup(list ? list : ""), *rest = copy, *one;
	struct wanted_mount m, best = { 0 };
	size_t len;

	while ((one = strsep(&rest, ",")))
		if (*one && parse_mount(one, &m) && is_below(path, m.path) &&
		    (!best.path || strlen(m.path) >= strlen(best.path)))
			best = m;
	if (!best.path || best.read_only || strstr(path, "/..")) {
		free(copy);
		return false;
	}
	ret->claim = best.claim ? xstrdup(best.source) : NULL;
	len = strlen(best.path);
	len += strspn(path + len, "/");
	ret->file = best.claim ? xstrdup(path)
	                       : xasprintf("%s/%s", best.source, path + len);
	free(copy);
	return true;
}
