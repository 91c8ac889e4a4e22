/* conf.c - the configuration: load, default, check, find */
#include "libcommon/conf/conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/conf/conf_build.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "libcommon/rlimits.h"

#define SYSTEM_FILE "/etc/aisched/aischedd.conf"

static const struct conf_class standard_classes[] = {
	{ .name = "train", .priority = 50, .preemptible = true },
	{ .name = "interactive", .priority = 100 },
	{ .name = "inference", .priority = 125 },
};

/* Returns the host name up to its first dot, or "localhost" if that is no
 * valid name. */
static char *default_cluster(struct arena *arena)
{
	char name[256] = "";

	if (gethostname(name, sizeof(name) - 1) < 0)
		*name = '\0';
	name[strcspn(name, ".")] = '\0';
	return arena_strdup(arena, conf_check_name(name, NULL) < 0 ? "localhost"
	                                                           : name);
}

static int default_state_dir(struct conf *conf, struct err *err)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	struct buf path = { 0 };

	if (geteuid() == 0)
		buf_puts(&path, "/var/lib/aisched");
	else if (state && *state == '/')
		buf_printf(&path, "%s/aisched", state);
	else if (home && *home == '/')
		buf_printf(&path, "%s/.local/state/aisched", home);
	else
		return err_set(err, EINVAL,
		               "state_dir is not set, and neither is HOME");
	conf->state_dir = arena_strdup(conf->arena, path.data);
	buf_free(&path);
	return 0;
}

static int check_limits(struct conf_build *b)
{
	const struct strlist *list = &b->conf->propagate_limits;
	const struct conf_value *at = build_place(b->top, "propagate_limits");

	if (rlimits_select(list->s, list->n, &b->conf->rlimits, b->err) == 0)
		return 0;
	return err_wrap(b->err, "%s:%d: propagate_limits", at->file, at->line);
}

/* Refuse an address that other machines can reach, unless http_open is set: the
 * page has no TLS, so cookies travel in plain text. */
static int check_http(struct conf_build *b)
{
	static const char *const loopback[] = { "127.",
		                                "localhost:", "[::1]:" };
	const struct conf *conf = b->conf;
	bool open = *conf->http && !conf->http_open;

	for (size_t i = 0; i < ARRAY_SIZE(loopback); i++)
		if (!strncmp(conf->http, loopback[i], strlen(loopback[i])))
			open = false;
	if (!open)
		return 0;
	return build_fail(b, build_place(b->top, "http"),
	                  "http: '%s' is no loopback address, and the page has "
	                  "no TLS: use 127.0.0.1:PORT, or set http_open = yes",
	                  conf->http);
}

/* Check that http_socket and web_proxy_header are given together: a proxy
 * connects to the socket, and names its user in that header. */
static int check_proxy(struct conf_build *b)
{
	bool socket = *b->conf->http_socket,
	     header = *b->conf->web_proxy_header;

	if (socket && !b->conf->web_proxy_users.n)
		return build_fail(b, build_place(b->top, "http_socket"),
		                  "http_socket: set web_proxy_users, too: the "
		                  "users as whom the proxy may run");
	if (socket == header)
		return 0;
	if (socket)
		return build_fail(b, build_place(b->top, "http_socket"),
		                  "http_socket: set web_proxy_header, too: the "
		                  "header in which the proxy names its user");
	return build_fail(b, build_place(b->top, "web_proxy_header"),
	                  "web_proxy_header: set http_socket, too: only a "
	                  "proxy that comes there is believed");
}

static int build_top(struct conf_build *b)
{
	struct conf *conf = b->conf;

	build_defaults(b, NULL, conf);
	if (build_keys(b, NULL, b->top, conf) < 0 || check_limits(b) < 0 ||
	    check_http(b) < 0 || check_proxy(b) < 0)
		return -1;
	if (!conf->cluster)
		conf->cluster = default_cluster(conf->arena);
	if (!conf->state_dir && default_state_dir(conf, b->err) < 0)
		return -1;
	if (!conf->listen.n) {
		const char **s = arena_array(conf->arena, const char *, 1);
		char *path = conf_default_socket();

		*s = arena_strdup(conf->arena, path);
		free(path);
		conf->listen = (struct strlist){ 1, s };
	}
	return 0;
}

const struct conf_class *conf_standard_class(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(standard_classes); i++)
		if (!strcmp(standard_classes[i].name, name))
			return &standard_classes[i];
	return NULL;
}

static int build_classes(struct conf_build *b)
{
	size_t given = build_count(b, "class");
	size_t n = ARRAY_SIZE(standard_classes);
	struct conf_class *class =
	    arena_array(b->conf->arena, struct conf_class, n + given);

	memcpy(class, standard_classes, sizeof(standard_classes));
	b->conf->classes = class;
	b->conf->nclasses = n;
	for (size_t i = 0; i < given; i++) {
		cfg_t *section = build_section(b, "class", i);
		const char *name = build_name(b, "class", section);
		int at = name ? conf_class_find(b->conf, name) : -1;

		if (!name)
			return -1;
		if (at < 0) {
			at = (int)b->conf->nclasses++;
			build_defaults(b, "class", &class[at]);
			class[at].name = name;
		}
		if (build_keys(b, "class", section, &class[at]) < 0)
			return -1;
	}
	return 0;
}

static int check_runner(struct conf_build *b, cfg_t *section,
                        const struct conf_pool *pool)
{
	const struct conf_value *at = build_place(section, "runner");

	for (size_t i = 0; i < b->conf->npools; i++)
		if (runner_traits(pool->runner)->is_here &&
		    runner_traits(b->conf->pools[i].runner)->is_here)
			return build_fail(b, at,
			                  "pool '%s': runner = local is that "
			                  "of pool '%s' already",
			                  pool->name, b->conf->pools[i].name);
	return 0;
}

/* Set the namespaces of a pool. Queues that name no namespace use
 * pool->namespace: the key `namespace`, or else the first of `namespaces`. */
static int build_spaces(struct conf_build *b, cfg_t *section,
                        struct conf_pool *pool)
{
	const struct conf_value *at = build_place(section, "namespaces");
	const struct strlist *list = &pool->namespaces;

	if (!list->n) {
		pool->spaces = (struct strlist){ 1, &pool->namespace };
		return 0;
	}
	if (list->n > LIMIT_NAMESPACES)
		return build_fail(b, at, "pool '%s': more than %d namespaces",
		                  pool->name, LIMIT_NAMESPACES);
	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(list->s[i], list->s[k]))
				return build_fail(b, at,
				                  "pool '%s': namespaces: '%s' "
				                  "is named twice",
				                  pool->name, list->s[i]);
	if (list->n > 1 && pool->gpu_sharing == SHARING_CLAIMS)
		return build_fail(b, at,
		                  "pool '%s': namespaces: with gpu_sharing = "
		                  "claims only one, as pods of several cannot "
		                  "share a claim",
		                  pool->name);
	pool->spaces = *list;
	if (!conf_is_given(cfg_getopt(section, "namespace")))
		pool->namespace = list->s[0];
	if (!strlist_has(list, pool->namespace))
		return build_fail(b, build_place(section, "namespace"),
		                  "pool '%s': namespace '%s' is not among its "
		                  "namespaces",
		                  pool->name, pool->namespace);
	return 0;
}

/* Check that the resource of a pool's GPUs counts no other devices. */
static int check_resource(struct conf_build *b, cfg_t *section,
                          const struct conf_pool *pool)
{
	if (!runner_traits(pool->runner)->has_api)
		return 0;
	for (size_t i = 0; i < pool->nkinds; i++)
		if (pool->kinds[i].resource &&
		    !strcmp(pool->kinds[i].resource, pool->gpu_resource))
			return build_fail(
			    b, build_place(section, "gpu_resource"),
			    "pool '%s': resource '%s' of device '%s' is that "
			    "of the pool's GPUs (gpu_resource)",
			    pool->name, pool->gpu_resource,
			    pool->kinds[i].name);
	return 0;
}

/* Check that the driver of a pool's GPUs lists no other devices. */
static int check_driver(struct conf_build *b, cfg_t *section,
                        const struct conf_pool *pool)
{
	if (!runner_traits(pool->runner)->has_api ||
	    pool->devices == DEVICES_PLUGIN)
		return 0;
	for (size_t i = 0; i < pool->nkinds; i++)
		if (pool->kinds[i].driver &&
		    !strcmp(pool->kinds[i].driver, pool->device_driver))
			return build_fail(
			    b, build_place(section, "device_driver"),
			    "pool '%s': driver '%s' is that of device '%s': "
			    "name the driver of the pool's GPUs in "
			    "device_driver, or set devices = plugin",
			    pool->name, pool->device_driver,
			    pool->kinds[i].name);
	return 0;
}

static int build_pools(struct conf_build *b)
{
	size_t n = build_count(b, "pool");
	struct conf_pool *pool =
	    arena_array(b->conf->arena, struct conf_pool, n + 1);

	b->conf->pools = pool;
	if (n > LIMIT_POOLS)
		return build_fail(
		    b, conf_place(build_section(b, "pool", LIMIT_POOLS)),
		    "more than %d pools", LIMIT_POOLS);
	for (size_t i = 0; i < n; i++) {
		cfg_t *section = build_section(b, "pool", i);

		build_defaults(b, "pool", &pool[i]);
		pool[i].kinds = b->conf->devices;
		pool[i].kind_names = b->conf->device_names;
		pool[i].nkinds = b->conf->ndevices;
		pool[i].name = build_name(b, "pool", section);
		if (!pool[i].name ||
		    build_keys(b, "pool", section, &pool[i]) < 0 ||
		    check_runner(b, section, &pool[i]) < 0 ||
		    build_spaces(b, section, &pool[i]) < 0 ||
		    check_resource(b, section, &pool[i]) < 0 ||
		    check_driver(b, section, &pool[i]) < 0)
			return -1;
		b->conf->npools++;
	}
	if (!n) {
		build_defaults(b, "pool", pool);
		pool->name = "here";
		pool->runner = RUNNER_LOCAL;
		pool->spaces = (struct strlist){ 1, &pool->namespace };
		b->conf->npools = 1;
	}
	return 0;
}

static int build_licenses(struct conf_build *b)
{
	size_t n = 0, cap = 0;
	struct conf_license *license = NULL;
	const char *name, *text;
	cfg_t *section;

	if (build_count(b, "licenses") == 0)
		return 0;
	section = build_section(b, "licenses", 0);
	if (build_count(b, "licenses") > 1)
		return build_fail(b,
		                  conf_place(build_section(b, "licenses", 1)),
		                  "licenses is given twice");
	for (; conf_entry(section, n, &name, &text); n++) {
		license = GROW(license, n, &cap);
		license[n].name = arena_strdup(b->conf->arena, name);
		if (conf_check_name(name, b->err) < 0 ||
		    parse_int(text, 0, KEY_MAX_COUNT, &license[n].count,
		              b->err) < 0) {
			const struct conf_value *at = conf_place(section);

			free(license);
			return err_wrap(b->err, "%s:%d: licenses.%s", at->file,
			                at->line, name);
		}
	}
	b->conf->licenses =
	    n ? memcpy(arena_array(b->conf->arena, struct conf_license, n),
	               license, n * sizeof(*license))
	      : NULL;
	b->conf->nlicenses = n;
	free(license);
	return 0;
}

/* Set the driver of a kind of devices that claims give, and check that no kind
 * before it has the same: the slices do not say of which class a device is. */
static int build_driver(struct conf_build *b, cfg_t *section,
                        const struct conf_device *all,
                        struct conf_device *device)
{
	const struct conf_value *at = build_place(section, "class");

	if (device->driver && !device->class)
		return build_fail(b, build_place(section, "driver"),
		                  "device '%s': driver without class",
		                  device->name);
	if (device->class && device->resource)
		return build_fail(b, at,
		                  "device '%s': nodes have it by class or by "
		                  "resource: give one of them",
		                  device->name);
	if (!device->driver)
		device->driver = device->class;
	for (const struct conf_device *other = all; other < device; other++)
		if (device->driver && other->driver &&
		    !strcmp(device->driver, other->driver))
			return build_fail(b, at,
			                  "device '%s': driver '%s' is that of "
			                  "device '%s' already",
			                  device->name, device->driver,
			                  other->name);
	return 0;
}

/* Build the kinds of devices, which the nodes refer to by name. */
static int build_devices(struct conf_build *b)
{
	size_t n = build_count(b, "device");
	struct conf_device *device =
	    arena_array(b->conf->arena, struct conf_device, n + 1);
	const char **name = arena_array(b->conf->arena, const char *, n + 1);

	b->conf->devices = device;
	b->conf->device_names = name;
	for (size_t i = 0; i < n; i++) {
		cfg_t *section = build_section(b, "device", i);

		if (i == DEVICE_KINDS)
			return build_fail(b, conf_place(section),
			                  "more than %d device sections",
			                  DEVICE_KINDS);
		build_defaults(b, "device", &device[i]);
		device[i].name = name[i] = build_name(b, "device", section);
		if (!name[i] ||
		    build_keys(b, "device", section, &device[i]) < 0 ||
		    build_driver(b, section, device, &device[i]) < 0)
			return -1;
		b->conf->ndevices++;
	}
	return 0;
}

static struct conf *load(const char *file, const char *text,
                         struct buf *warnings, struct err *err)
{
	struct arena *arena = arena_new();
	struct conf *conf = arena_array(arena, struct conf, 1);
	struct conf_build b = { .conf = conf,
		                .warnings = warnings,
		                .err = err };
	bool built;

	conf->arena = arena;
	b.top = conf_read(file, text, arena, err);
	built = b.top && build_top(&b) == 0 && build_classes(&b) == 0 &&
	        build_devices(&b) == 0 && build_pools(&b) == 0 &&
	        build_licenses(&b) == 0 && build_scales(&b) == 0 &&
	        build_nodes(&b) == 0 && build_queues(&b) == 0;
	if (b.top)
		cfg_free(b.top);
	if (!built) {
		arena_free(arena);
		return NULL;
	}
	return conf;
}

struct conf *conf_parse(const char *text, const char *name,
                        struct buf *warnings, struct err *err)
{
	return load(name, text, warnings, err);
}

/* Returns the device of the file system of a path or, if it does not exist, of
 * its deepest existing parent folder. */
static dev_t disk_of(const char *path)
{
	char *at = xstrdup(path);
	struct stat st = { 0 };
	char *slash;

	while (stat(at, &st) < 0 && (slash = strrchr(at, '/')))
		slash[slash == at && slash[1]] = '\0';
	free(at);
	return st.st_dev;
}

void conf_check_paths(const struct conf *conf, struct buf *warnings)
{
	const char *program = conf->health.program;

	if (*program && access(program, X_OK) < 0)
		buf_printf(warnings,
		           "health_check: cannot run '%s': %s; this machine "
		           "stays drained\n",
		           program, strerror(errno));
	if (disk_of(conf->tmp_dir) == disk_of(conf->state_dir))
		buf_printf(warnings,
		           "tmp_dir '%s' is on the file system of state_dir "
		           "'%s': a job that fills it keeps the daemon from "
		           "writing; use a folder of another one\n",
		           conf->tmp_dir, conf->state_dir);
}

struct conf *conf_load(const char *path, struct buf *warnings, struct err *err)
{
	char *dir = NULL, *absolute;
	struct conf *conf;

	if (!path && geteuid() == 0 && access(SYSTEM_FILE, F_OK) == 0)
		path = SYSTEM_FILE;
	if (!path)
		return load("built-in configuration", "", warnings, err);

	conf = load(path, NULL, warnings, err);
	if (!conf)
		return NULL;
	/* Do not resolve symbolic links: they may have another target at the
	 * next reload. */
	if (*path != '/')
		dir = get_current_dir_name();
	absolute = xasprintf("%s%s%s", dir ? dir : "", dir ? "/" : "", path);
	conf->path = arena_strdup(conf->arena, absolute);
	free(absolute);
	free(dir);
	return conf;
}

int conf_keep_pool(struct conf *conf, const struct conf_pool *pool,
                   struct err *err)
{
	size_t n = conf->npools;
	struct conf_pool *pools;

	if (n >= LIMIT_POOLS)
		return err_set(err, EINVAL, "more than %d pools", LIMIT_POOLS);
	pools = arena_array(conf->arena, struct conf_pool, n + 1);
	memcpy(pools, conf->pools, n * sizeof(*pools));
	pools[n] = *pool;
	pools[n].leaving = true;
	conf->pools = pools;
	conf->npools++;
	return 0;
}

void conf_own(struct conf *conf, struct conf *other)
{
	other->kept = conf->kept;
	conf->kept = other;
}

void conf_free(struct conf *conf)
{
	struct conf *next;

	for (; conf; conf = next) {
		next = conf->kept;
		arena_free(conf->arena);
	}
}

int conf_queue_find(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->nqueues; i++)
		if (!strcmp(conf->queues[i].name, name))
			return (int)i;
	return -1;
}

int conf_pool_find(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->npools; i++)
		if (!strcmp(conf->pools[i].name, name))
			return (int)i;
	return -1;
}

int conf_class_find(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->nclasses; i++)
		if (!strcmp(conf->classes[i].name, name))
			return (int)i;
	return -1;
}

const char *conf_namespace(const struct conf *conf, int queue, int pool)
{
	const char *own = queue < 0 ? NULL : conf->queues[queue].namespace;

	return own ? own : conf->pools[pool].namespace;
}

int conf_queue_without_class(const struct conf *conf, int queue,
                             const char *class)
{
	for (; queue >= 0; queue = conf->queues[queue].parent) {
		const struct strlist *classes = &conf->queues[queue].classes;
		size_t i = 0;

		while (i < classes->n && strcmp(classes->s[i], class) != 0)
			i++;
		if (classes->n && i == classes->n)
			return queue;
	}
	return -1;
}

int conf_default_queue(const struct conf *conf)
{
	int only = -1;

	if (*conf->default_queue)
		return conf_queue_find(conf, conf->default_queue);
	for (size_t i = 0; i < conf->nqueues; i++) {
		if (!conf->queues[i].leaf)
			continue;
		if (only >= 0)
			return -1;
		only = (int)i;
	}
	return only;
}
