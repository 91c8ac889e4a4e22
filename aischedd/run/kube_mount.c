/* kube_mount.c - folders of pods: mounts, and where the script begins */
#include "aischedd/run/kube_mount.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"

#define WORK_DIR "/aisched/work"

void kube_volumes_add(struct kube_volumes *v, const char *path,
                      const char *kind, json_t *source, bool read_only)
{
	char name[16];

	snprintf(name, sizeof(name), "v%u", v->n++);
	json_array_append_new(
	    v->volumes, json_pack("{s:s, s:o}", "name", name, kind, source));
	json_array_append_new(v->mounts, json_pack("{s:s, s:s, s:b}", "name",
	                                           name, "mountPath", path,
	                                           "readOnly", read_only));
}

/* A folder on the host is allowed with all that is below. */
static bool is_allowed(const struct strlist *allowed, const char *source)
{
	bool claim = !strncmp(source, "pvc:", 4);

	for (size_t i = 0; i < allowed->n; i++) {
		const char *s = allowed->s[i];
		size_t len = strlen(s);

		if (!fnmatch(s, source, FNM_PATHNAME))
			return true;
		if (!claim && !strncmp(s, source, len) && source[len] == '/')
			return true;
	}
	return false;
}

/* "/data", "/data:/mnt", "pvc:NAME:/mnt", each with ":ro". */
static int add_mount(struct kube_volumes *v, const struct conf_pool *pool,
                     const char *text, struct err *err)
{
	char *copy = xstrdup(text), *source = copy, *path, *colon;
	size_t len = strlen(copy);
	bool read_only = len > 3 && !strcmp(copy + len - 3, ":ro");
	bool claim = !strncmp(copy, "pvc:", 4);
	int rc = -1;

	if (read_only)
		copy[len - 3] = '\0';
	colon = strchr(claim ? copy + 4 : copy, ':');
	path = colon ? colon + 1 : source;
	if (colon)
		*colon = '\0';
	if ((!claim && *source != '/') || *path != '/' || strchr(path, ':') ||
	    strstr(source, "/../") || strstr(path, "/.."))
		err_set(err, EINVAL,
		        "mount '%s': want PATH[:PATH][:ro] or "
		        "pvc:CLAIM:PATH[:ro]",
		        text);
	else if (!is_allowed(&pool->allow_mounts, source))
		err_set(err, EINVAL,
		        "mount '%s': pool '%s' does not allow it (its "
		        "allow_mounts)",
		        source, pool->name);
	else
		rc = 0;
	if (rc == 0 && claim)
		kube_volumes_add(v, path, "persistentVolumeClaim",
		                 json_pack("{s:s}", "claimName", source + 4),
		                 read_only);
	else if (rc == 0)
		kube_volumes_add(v, path, "hostPath",
		                 json_pack("{s:s}", "path", source), read_only);
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
		if (is_below(path, json_string_value(
				       json_object_get(mount, "mountPath"))))
			return path;
	for (i = 0; i < ARRAY_SIZE(systems); i++)
		if (is_below(path, systems[i]))
			path = WORK_DIR;
	if (!strcmp(path, "/"))
		path = WORK_DIR;
	kube_volumes_add(v, path, "emptyDir", json_object(), false);
	return path;
}
