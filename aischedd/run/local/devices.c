/* devices.c - find the devices of this machine besides GPUs */
#include "aischedd/run/local/devices.h"

#include <ctype.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "aischedd/run/local/numa.h"

enum { BUS_ID = sizeof("0000:00:00.0") };

/* A search for devices of one kind. */
struct search {
	struct devices *all;
	const struct conf_device *kind;
	uint8_t number; /* of the kind */
	hwloc_topology_t topo;
	struct arena *arena;
};

static void note(const struct search *s, const char *name, const char *why)
{
	char *text;

	if (s->all->note)
		return;
	text = xasprintf("'%s' %s: it is not given out", name, why);
	s->all->note = arena_strdup(s->arena, text);
	free(text);
}

static struct order_device *find_name(struct devices *d, const char *name)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (!strcmp(d->dev[i].name, name))
			return &d->dev[i];
	return NULL;
}

/* Add a device, which is this object of hwloc (NULL: unknown). Returns NULL and
 * notes why if jobs cannot have it. */
static struct order_device *add(const struct search *s, const char *name,
                                hwloc_obj_t pci)
{
	bool many = hwloc_get_nbobjs_by_type(s->topo, HWLOC_OBJ_NUMANODE) > 1;
	struct devices *d = s->all;

	if (d->n == LIMIT_DEVICES) {
		note(s, name, "is one too many");
		return NULL;
	}
	name = arena_strdup(s->arena, name);
	d->told[d->n] = (struct run_device){
		.name = name,
		.kind = s->number,
		.numa = pci || !many ? numa_of_device(s->topo, pci)
		                     : RUN_NUMA_UNKNOWN,
		.root = root_of(pci),
	};
	d->dev[d->n] = (struct order_device){
		.kind = arena_strdup(s->arena, s->kind->name), .name = name
	};
	return &d->dev[d->n++];
}

/* --- device files --------------------------------------------------------- */

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

/* Whether a file of a device that was found has this number. */
static bool is_known(const struct devices *d, dev_t number)
{
	for (uint32_t i = 0; i < d->n; i++)
		for (uint32_t k = 0; k < d->dev[i].nfiles; k++)
			if (d->dev[i].file[k].major == major(number) &&
			    d->dev[i].file[k].minor == minor(number))
				return true;
	return false;
}

/* Take a major number. Returns false if there are too many others. */
static bool take_major(struct devices *d, uint32_t number)
{
	uint32_t i = 0;

	while (i < d->nmajors && d->major[i] != number)
		i++;
	if (i == DEVICES_MAJORS)
		return false;
	d->major[i] = number;
	d->nmajors += i == d->nmajors;
	return true;
}

/* Set ret to the bus id of the PCI device whose driver made a device file.
 * Returns NULL if there is none. */
static const char *bus_of(dev_t number, char ret[BUS_ID])
{
	const char *sys = getenv("AISCHED_SYS");
	char link[PATH_MAX], path[PATH_MAX];
	bool found = false;

	snprintf(link, sizeof(link), "%s/dev/char/%u:%u", sys ? sys : "/sys",
	         major(number), minor(number));
	if (!realpath(link, path))
		return NULL;
	/* The last part that is a bus id is the nearest. */
	for (const char *p = path; p; p = strchr(p, '/')) {
		unsigned domain, bus, device, function;

		p += *p == '/';
		if (strcspn(p, "/") != BUS_ID - 1 ||
		    sscanf(p, "%4x:%2x:%2x.%1x", &domain, &bus, &device,
		           &function) != 4)
			continue;
		snprintf(ret, BUS_ID, "%.*s", (int)BUS_ID - 1, p);
		found = true;
	}
	return found ? ret : NULL;
}

/* Returns the device to which a file belongs, and adds it if files are devices
 * of their own; NULL if there is none. */
static struct order_device *owner_of(const struct search *s, const char *path,
                                     dev_t number)
{
	char room[BUS_ID];
	const char *bus = bus_of(number, room);
	struct order_device *dev;

	if (!s->kind->pci.n)
		return add(s, path,
		           bus ? hwloc_get_pcidev_by_busidstring(s->topo, bus)
		               : NULL);
	dev = bus ? find_name(s->all, bus) : NULL;
	return dev && !strcmp(dev->kind, s->kind->name) ? dev : NULL;
}

static void take_file(const struct search *s, const char *path)
{
	struct order_device *dev;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISCHR(st.st_mode) ||
	    is_known(s->all, st.st_rdev))
		return;
	if (!is_plain(path)) {
		note(s, path,
		     "has a name that is not made of letters, digits, '.', "
		     "'_', ':' and '-'");
		return;
	}
	if (!take_major(s->all, major(st.st_rdev))) {
		note(s, path,
		     "has another major device number than those of other "
		     "devices, which are as many as can be denied");
		return;
	}
	dev = owner_of(s, path, st.st_rdev);
	if (!dev)
		return;
	if (dev->nfiles == ORDER_FILES) {
		note(s, path, "is one file too many of its device");
		return;
	}
	dev->file[dev->nfiles++] =
	    (struct order_file){ major(st.st_rdev), minor(st.st_rdev) };
}

/* Find the device files that match a pattern. */
static void find_files(const struct search *s, const char *pattern)
{
	glob_t files;

	if (glob(pattern, GLOB_NOSORT, NULL, &files) != 0)
		return;
	qsort(files.gl_pathv, files.gl_pathc, sizeof(*files.gl_pathv), by_name);
	for (size_t i = 0; i < files.gl_pathc; i++)
		take_file(s, files.gl_pathv[i]);
	globfree(&files);
}

/* --- the PCI bus ---------------------------------------------------------- */

static bool is_meant(const struct strlist *patterns,
                     const struct hwloc_pcidev_attr_s *pci)
{
	char text[sizeof("15b3:101b")];

	snprintf(text, sizeof(text), "%04x:%04x", pci->vendor_id,
	         pci->device_id);
	for (size_t i = 0; i < patterns->n; i++)
		if (!fnmatch(patterns->s[i], text, 0))
			return true;
	return false;
}

static void find_pci(const struct search *s)
{
	hwloc_obj_t pci = NULL;

	while ((pci = hwloc_get_next_pcidev(s->topo, pci))) {
		const struct hwloc_pcidev_attr_s *at = &pci->attr->pcidev;
		char *name;

		if (!is_meant(&s->kind->pci, at))
			continue;
		name = xasprintf("%04x:%02x:%02x.%01x", at->domain, at->bus,
		                 at->dev, at->func);
		if (!find_name(s->all, name))
			add(s, name, pci);
		free(name);
	}
}

/* --- all of them ---------------------------------------------------------- */

void devices_find(struct devices *ret, const struct conf_device *kind, size_t n,
                  hwloc_topology_t topo, struct arena *arena)
{
	*ret = (struct devices){ 0 };
	for (size_t i = 0; i < n; i++) {
		struct search s = { .all = ret,
			            .kind = &kind[i],
			            .number = (uint8_t)i,
			            .topo = topo,
			            .arena = arena };

		if (kind[i].pci.n || kind[i].path.n)
			ret->kinds |= (uint8_t)(1 << i);
		if (kind[i].pci.n)
			find_pci(&s);
		for (size_t k = 0; k < kind[i].path.n; k++)
			find_files(&s, kind[i].path.s[k]);
	}
}

bool devices_know_files(const struct devices *devices)
{
	for (uint32_t i = 0; i < devices->n; i++)
		if (!devices->dev[i].nfiles)
			return false;
	return true;
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
