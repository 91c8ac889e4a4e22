/* devices.c - find the devices of this machine besides GPUs */
#include "aischedd/run/local/devices.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "aischedd/run/deny.h"

/* device numbers of which jobs can be denied some, besides those of GPUs */
enum { MOST_MAJORS = DENY_LISTS - 2 };

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Whether a name can be in a list of names, and in the text of a placement. */
static bool is_plain(const char *name)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("/._:-", *name))
			return false;
	return true;
}

static bool is_known(const struct devices *d, dev_t number)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (d->dev[i].major == major(number) &&
		    d->dev[i].minor == minor(number))
			return true;
	return false;
}

static bool has_room(const struct devices *d, uint32_t number)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t k = 0;

		if (d->dev[i].major == number)
			return true;
		while (k < i && d->dev[k].major != d->dev[i].major)
			k++;
		n += k == i;
	}
	return n < MOST_MAJORS;
}

/* Returns why jobs cannot have this file; NULL: they can, or it is no device.
 */
static const char *add(struct devices *d, const struct conf_device *kind,
                       uint8_t number, const char *path, struct arena *arena)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISCHR(st.st_mode) ||
	    is_known(d, st.st_rdev))
		return NULL;
	if (!is_plain(path))
		return "has a name that is not made of letters, digits, '.', "
		       "'_', ':' and '-'";
	if (d->n == LIMIT_DEVICES)
		return "is one too many";
	if (!has_room(d, major(st.st_rdev)))
		return "has another major device number than the others, "
		       "which have as many as can be told apart";
	d->told[d->n] = (struct run_device){
		.name = arena_strdup(arena, path),
		.kind = number,
	};
	d->dev[d->n] = (struct order_device){
		.kind = arena_strdup(arena, kind->name),
		.name = d->told[d->n].name,
		.major = major(st.st_rdev),
		.minor = minor(st.st_rdev),
	};
	d->n++;
	return NULL;
}

static void note(struct devices *d, const char *path, const char *why,
                 struct arena *arena)
{
	char *text = xasprintf("'%s' %s: it is not given out", path, why);

	d->note = arena_strdup(arena, text);
	free(text);
}

/* Add the devices of a kind whose files match a pattern. */
static void find(struct devices *d, const struct conf_device *kind,
                 uint8_t number, const char *pattern, struct arena *arena)
{
	glob_t files;

	if (glob(pattern, GLOB_NOSORT, NULL, &files) != 0)
		return;
	qsort(files.gl_pathv, files.gl_pathc, sizeof(*files.gl_pathv), by_name);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		const char *path = files.gl_pathv[i];
		const char *why = add(d, kind, number, path, arena);

		if (why && !d->note)
			note(d, path, why, arena);
	}
	globfree(&files);
}

void devices_find(struct devices *ret, const struct conf_device *conf, size_t n,
                  struct arena *arena)
{
	*ret = (struct devices){ 0 };
	for (size_t i = 0; i < n; i++) {
		ret->kinds |= (uint8_t)((conf[i].path.n > 0) << i);
		for (size_t k = 0; k < conf[i].path.n; k++)
			find(ret, &conf[i], (uint8_t)i, conf[i].path.s[k],
			     arena);
	}
}

void devices_tell(const struct devices *devices, struct node_info *node)
{
	node->device = devices->told;
	node->ndevices = devices->n;
	node->kinds_named = devices->kinds;
	for (uint32_t i = 0; i < devices->n; i++)
		node->devs.n[devices->told[i].kind]++;
}

void devices_order(const struct devices *devices, struct order *order)
{
	order->ndevices = devices->n;
	memcpy(order->device, devices->dev, sizeof(order->device));
}
