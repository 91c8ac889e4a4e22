/* zones.c - a cache of time zones, until their files change */
#include "libcommon/cron/zones.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libcommon/mem.h"

/* Identifies a version of a file; all 0 if there is no file. */
struct version {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec time;
};

struct known_zone {
	char *name;
	struct version version;
	struct zone *zone; /* NULL: it could not be read, err says why */
	struct err err;
};

struct zones {
	struct known_zone *known;
	size_t n, cap;
};

struct zones *zones_new(void)
{
	return xcalloc(1, sizeof(struct zones));
}

static void forget(struct known_zone *known)
{
	free(known->name);
	zone_free(known->zone);
}

void zones_free(struct zones *zones)
{
	if (!zones)
		return;
	for (size_t i = 0; i < zones->n; i++)
		forget(&zones->known[i]);
	free(zones->known);
	free(zones);
}

static struct version version_of(const char *name)
{
	/* A bad name must not reach the file system. */
	bool is_bad = *name == '/' || strstr(name, "..");
	char *path = *name ? xasprintf("/usr/share/zoneinfo/%s", name)
	                   : xstrdup("/etc/localtime");
	struct version version = { 0 };
	struct stat st;

	if (!is_bad && stat(path, &st) == 0)
		version = (struct version){ st.st_dev, st.st_ino, st.st_size,
			                    st.st_mtim };
	free(path);
	return version;
}

static bool is_same(const struct version *a, const struct version *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->time.tv_sec == b->time.tv_sec &&
	       a->time.tv_nsec == b->time.tv_nsec;
}

const struct zone *zones_get(struct zones *zones, const char *name,
                             struct err *err)
{
	struct known_zone *known = NULL;

	for (size_t i = 0; i < zones->n && !known; i++)
		if (!strcmp(zones->known[i].name, name))
			known = &zones->known[i];
	if (!known) {
		zones->known = GROW(zones->known, zones->n, &zones->cap);
		known = &zones->known[zones->n++];
		memset(known, 0, sizeof(*known));
		known->name = xstrdup(name);
		known->zone = zone_load(*name ? name : NULL, &known->err);
		known->version = version_of(name);
	}
	if (!known->zone && err)
		*err = known->err;
	return known->zone;
}

bool zones_refresh(struct zones *zones)
{
	size_t n = 0;
	bool changed = false;

	for (size_t i = 0; i < zones->n; i++) {
		struct known_zone *known = &zones->known[i];
		struct version now = version_of(known->name);

		if (is_same(&now, &known->version)) {
			zones->known[n++] = *known;
			continue;
		}
		forget(known);
		changed = true;
	}
	zones->n = n;
	return changed;
}
