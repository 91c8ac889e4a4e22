/* kinds.c - devices other than GPUs that ResourceSlices list */
#include "aischedd/run/kube/device/kinds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/device/first.h"
#include "aischedd/run/kube/device/shown.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/pod.h"
#include "aischedd/run/kube/object/slice.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

enum { MAX_SLICES = 64 /* slices of a node; no drivers make more */ };

struct kind_node;

struct kind_slice {
	LIST_ENTRY(kind_slice) of_node;
	/* NULL: it is not for one node, and only its name is known */
	struct kind_node *node;
	uint8_t kind;
	bool marked; /* the list being read has not shown it yet */
	struct kube_slice slice;
};

struct kind_dev {
	char *root;         /* its PCIe root; NULL: not known */
	char *name, *pool;  /* "KIND/POOL/NAME", and the same POOL */
	const char *device; /* NAME */
	uint8_t kind, numa;
	bool listed; /* a valid slice lists it */
	bool tainted;
};

struct kind_node {
	char *name; /* the first member, for kube_first() */
	LIST_HEAD(, kind_slice) slices;
	uint32_t nslices;
	bool stale; /* slices changed after they were looked at */
	/* NULL: the slices are in order. shut: the kinds of which no device is
	 * given to jobs for that reason, one bit each. */
	char *wrong;
	uint8_t shut;
	char *odd;    /* a listed device that is not given to jobs, or NULL */
	char *closed; /* why jobs get no devices of the node, or NULL */
	uint32_t n;   /* devices that are listed, or that claims have */
	struct kind_dev *dev; /* [n] in the order of their names */
	/* the names of those of which the daemon was told, in that order */
	uint32_t ntold;
	char *told[LIMIT_DEVICES];
	uint8_t told_kind[LIMIT_DEVICES];
};

bool kube_kinds_any(const struct conf_pool *pool)
{
	for (size_t i = 0; i < pool->nkinds; i++)
		if (pool->kinds[i].class)
			return true;
	return false;
}

int kube_kinds_of(const struct conf_pool *pool, const char *driver)
{
	for (size_t i = 0; i < pool->nkinds; i++)
		if (pool->kinds[i].driver &&
		    !strcmp(pool->kinds[i].driver, driver))
			return (int)i;
	return -1;
}

static struct kind_node *find(const struct kube *kube, const char *name)
{
	return map_find(&kube->kinds.nodes, kube_text_key(name));
}

static struct kind_node *intern(struct kube *kube, const char *name)
{
	struct kind_node *node = find(kube, name);

	if (node)
		return node;
	node = xcalloc(1, sizeof(*node));
	node->name = xstrdup(name);
	LIST_INIT(&node->slices);
	map_set(&kube->kinds.nodes, kube_text_key(name), node);
	return node;
}

static uint64_t pool_key(uint8_t kind, const char *pool)
{
	return hash_bytes(kind, pool, strlen(pool));
}

void kube_kinds_touch(struct kube *kube, uint8_t kind, const char *pool)
{
	const struct kind_node *node =
	    map_find(&kube->kinds.pools, pool_key(kind, pool));

	if (node)
		kube_nodes_retell(kube->nodes, node->name);
}

static const char *word(const struct kube *kube, uint8_t kind)
{
	return kube->pool->kinds[kind].name;
}

/* --- the devices of a node ------------------------------------------------ */

static void dev_fini(struct kind_dev *dev)
{
	free(dev->root);
	free(dev->name);
	free(dev->pool);
}

/* Returns the device of this name, which it adds unless it is there; NULL:
 * there are too many. */
static struct kind_dev *dev_at(struct kind_node *node, uint8_t kind,
                               const char *name, const char *pool,
                               size_t pool_len)
{
	uint32_t i = 0;
	int order = 1;

	for (; i < node->n; i++) {
		order = node->dev[i].kind != kind
		            ? node->dev[i].kind - kind
		            : strverscmp(node->dev[i].name, name);
		if (order >= 0)
			break;
	}
	if (i < node->n && !order)
		return &node->dev[i];
	if (node->n == LIMIT_DEVICES)
		return NULL;
	if (!node->dev)
		node->dev = xcalloc(LIMIT_DEVICES, sizeof(*node->dev));
	memmove(&node->dev[i + 1], &node->dev[i],
	        (node->n++ - i) * sizeof(*node->dev));
	node->dev[i] = (struct kind_dev){ .name = xstrdup(name),
		                          .pool = xstrndup(pool, pool_len),
		                          .kind = kind,
		                          .numa = RUN_NUMA_UNKNOWN };
	node->dev[i].device = strrchr(node->dev[i].name, '/') + 1;
	return &node->dev[i];
}

static void list_dev(const struct kube *kube, struct kind_node *node,
                     const struct kind_slice *s, const struct kube_gpu *gpu)
{
	const char *kind = word(kube, s->kind), *pool = s->slice.pool;
	char *name;
	struct kind_dev *dev;

	if ((gpu->counted || gpu->shared || gpu->is_part) && !node->odd)
		node->odd = xasprintf(
		    "lists %s '%s', which %s: jobs do not get it", kind,
		    gpu->name,
		    gpu->shared ? "several claims may share"
				: "shares counters with other devices");
	if (gpu->counted || gpu->shared || gpu->is_part)
		return;
	name = xasprintf("%s/%s/%s", kind, pool, gpu->name);
	dev = dev_at(node, s->kind, name, pool, strlen(pool));
	free(name);
	if (dev && dev->listed && !node->wrong)
		node->wrong = xasprintf("shows %s '%s' twice", kind, gpu->name);
	if (!dev && !node->wrong)
		node->wrong =
		    xasprintf("shows more than %d devices", LIMIT_DEVICES);
	if (!dev || dev->listed) {
		node->shut |= (uint8_t)(1u << s->kind);
		return;
	}
	dev->listed = true;
	dev->tainted = gpu->tainted;
	text_set(&dev->root, gpu->root);
	dev->numa = gpu->numa >= 0 && gpu->numa < LIMIT_SOCKETS
	                ? (uint8_t)gpu->numa
	                : RUN_NUMA_UNKNOWN;
}

/* Whether the slice has the highest generation among those of its pool. *ret_n:
 * how many have that generation. */
static bool is_valid(const struct kind_node *node, const struct kind_slice *s,
                     int64_t *ret_n)
{
	const struct kind_slice *other;

	*ret_n = 0;
	LIST_FOREACH(other, &node->slices, of_node) {
		if (other->kind != s->kind ||
		    strcmp(other->slice.pool, s->slice.pool) != 0)
			continue;
		if (other->slice.generation > s->slice.generation)
			return false;
		*ret_n += other->slice.generation == s->slice.generation;
	}
	return true;
}

static void list_slice(const struct kube *kube, struct kind_node *node,
                       const struct kind_slice *s)
{
	const struct kube_slice *slice = &s->slice;
	int64_t have;

	if (!is_valid(node, s, &have))
		return;
	if (have != slice->count) {
		node->shut |= (uint8_t)(1u << s->kind);
		if (!node->wrong)
			node->wrong = xasprintf(
			    "shows half of its %s (%" PRId64 " of %" PRId64
			    " slices of generation %" PRId64 ")",
			    word(kube, s->kind), have, slice->count,
			    slice->generation);
	}
	for (uint32_t i = 0; i < slice->ngpus; i++)
		list_dev(kube, node, s, &slice->gpu[i]);
}

/* Forget the devices that no slice lists and no claim has. */
static void drop_unused(const struct kube *kube, struct kind_node *node)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < node->n; i++) {
		struct kind_dev *dev = &node->dev[i];

		if (!dev->listed && kube_devices_use(kube, dev->kind, dev->pool,
		                                     dev->device) == KIND_FREE)
			dev_fini(dev);
		else
			node->dev[n++] = *dev;
	}
	node->n = n;
}

/* Update the node's devices from its slices. */
static void look(const struct kube *kube, struct kind_node *node)
{
	const struct kind_slice *s;

	if (!node->stale)
		return;
	node->stale = false;
	node->shut = 0;
	text_set(&node->wrong, NULL);
	text_set(&node->odd, NULL);
	for (uint32_t i = 0; i < node->n; i++)
		node->dev[i].listed = false;
	drop_unused(kube, node);
	if (node->nslices > MAX_SLICES) {
		node->shut = UINT8_MAX;
		node->wrong = xasprintf("shows more than %d slices of devices",
		                        MAX_SLICES);
		return;
	}
	LIST_FOREACH(s, &node->slices, of_node)
		list_slice(kube, node, s);
}

/* --- names in texts ------------------------------------------------------- */

/* Parse the next name of "KIND/POOL/NAME,…" at *at, move *at behind it, and set
 * *name on the heap. *pool points into the text. Returns the kind; -1: the end
 * of the text, or one that is malformed or of no kind now. */
static int next_name(const struct conf_pool *conf, const char **at, char **name,
                     const char **pool, size_t *pool_len)
{
	size_t len = strcspn(*at, ","), kind_len = strcspn(*at, "/");
	const char *slash = memrchr(*at, '/', len);

	if (kind_len >= len || slash <= *at + kind_len + 1)
		return -1;
	*pool = *at + kind_len + 1;
	*pool_len = (size_t)(slash - *pool);
	for (size_t i = 0; i < conf->nkinds; i++) {
		const char *kind = conf->kinds[i].name;

		if (!conf->kinds[i].class || strlen(kind) != kind_len ||
		    strncmp(kind, *at, kind_len) != 0)
			continue;
		*name = xstrndup(*at, len);
		*at += len + ((*at)[len] == ',');
		return (int)i;
	}
	return -1;
}

void kube_kinds_seed(struct kube *kube, const char *name, const char *text)
{
	struct kind_node *node = *text && *name ? intern(kube, name) : NULL;
	const char *pool;
	size_t len;
	char *dev;
	int kind;

	while (node &&
	       (kind = next_name(kube->pool, &text, &dev, &pool, &len)) >= 0) {
		(void)dev_at(node, (uint8_t)kind, dev, pool, len);
		free(dev);
		node->stale = true;
	}
}

bool kube_kinds_is_known(const char *text)
{
	return text && strcmp(text, "?") != 0;
}

/* Whether `devs`, one bit for each device of which the daemon was told, are
 * `each` times as many of each kind as asked for. */
static bool are_all(const struct conf_pool *pool, const struct kind_node *node,
                    uint64_t devs, const char *asked, uint32_t each)
{
	int64_t n[DEVICE_KINDS];

	kube_devs_asked(pool, asked, n);
	for (uint32_t k = 0; node && k < node->ntold; k++)
		if (devs >> k & 1)
			n[node->told_kind[k]] -= each;
	for (size_t i = 0; i < pool->nkinds; i++)
		if (pool->kinds[i].class && n[i])
			return false;
	return true;
}

char *kube_kinds_text(struct kube *kube, const struct run_job *job, uint32_t i,
                      uint32_t each)
{
	const struct kind_node *node = find(kube, job->node_name[i]);
	uint64_t devs = run_job_devs(job, i);
	struct buf text = { 0 };
	char *ret;

	if (!job->spec || !kube_devs_by_claims(kube->pool, job->spec->device))
		return NULL;
	if (!node || !are_all(kube->pool, node, devs, job->spec->device, each))
		return xstrdup("?");
	for (uint32_t k = 0; k < node->ntold; k++)
		if (devs >> k & 1)
			buf_printf(&text, "%s%s", text.len ? "," : "",
			           node->told[k]);
	ret = xstrdup(text.data);
	buf_free(&text);
	return ret;
}

/* Returns the device of that name, if a slice lists it. */
static const struct kind_dev *listed(const struct kind_node *node,
                                     const char *name)
{
	for (uint32_t i = 0; i < node->n; i++)
		if (!strcmp(node->dev[i].name, name))
			return node->dev[i].listed ? &node->dev[i] : NULL;
	return NULL;
}

bool kube_kinds_find(struct kube *kube, const char *name, const char *text,
                     struct kube_given *ret)
{
	struct kind_node *node = find(kube, name);
	const char *at = text, *pool;
	char *dev_name;
	size_t len;
	int kind;

	ret->devs = text;
	if (!text)
		return true;
	if (!node || !kube_kinds_is_known(text))
		return false;
	look(kube, node);
	while ((kind = next_name(kube->pool, &at, &dev_name, &pool, &len)) >=
	       0) {
		const struct kind_dev *dev = listed(node, dev_name);

		free(dev_name);
		if (!dev || ret->ndevs == LIMIT_DEVICES)
			return false;
		ret->dev[ret->ndevs++] = (struct kube_given_dev){
			.kind = &kube->pool->kinds[kind],
			.pool = dev->pool,
			.name = dev->device,
			.config = json_object_get(
			    json_object_get(kube->kinds.class[kind], "spec"),
			    "config"),
		};
	}
	return !*at;
}

/* --- report to the daemon ------------------------------------------------- */

static void set_told(struct kind_node *node, const struct kube_kinds_told *told)
{
	for (uint32_t i = 0; i < node->ntold; i++)
		free(node->told[i]);
	node->ntold = told->n;
	for (uint32_t i = 0; i < told->n; i++) {
		node->told[i] = xstrdup(told->device[i].name);
		node->told_kind[i] = told->device[i].kind;
	}
}

static void tell_dev(const struct kube *kube, const struct kind_node *node,
                     const struct kind_dev *dev, struct kube_kinds_told *ret)
{
	enum kube_kind_use use =
	    kube_devices_use(kube, dev->kind, dev->pool, dev->device);
	bool held = use == KIND_HELD || dev->tainted || node->closed ||
	            node->shut >> dev->kind & 1;

	if (!dev->listed && use != KIND_OURS)
		return;
	ret->all.n[dev->kind]++;
	if (dev->root)
		ret->roots_known |= (uint8_t)(1u << dev->kind);
	if (dev->numa != RUN_NUMA_UNKNOWN)
		ret->numas_known |= (uint8_t)(1u << dev->kind);
	if (held && use != KIND_OURS) {
		ret->held.n[dev->kind]++;
		return;
	}
	ret->root[ret->n] = dev->root;
	ret->device[ret->n++] = (struct run_device){ .name = dev->name,
		                                     .kind = dev->kind,
		                                     .numa = dev->numa };
}

void kube_kinds_show(struct kube *kube, const char *name,
                     const struct kube_node_said *said,
                     struct kube_kinds_told *ret)
{
	struct kind_node *node = find(kube, name);

	*ret = (struct kube_kinds_told){ 0 };
	for (size_t i = 0; i < kube->pool->nkinds; i++)
		if (kube->pool->kinds[i].class)
			ret->named |= (uint8_t)(1u << i);
	if (!node || !kube->devices.known)
		return;
	look(kube, node);
	text_set(&node->closed, NULL);
	if (node->nslices)
		node->closed = kube_shown_why_shut(kube, said, "devices");
	for (uint32_t i = 0; i < node->n; i++)
		tell_dev(kube, node, &node->dev[i], ret);
	set_told(node, ret);
}

void kube_kinds_known(struct kube *kube)
{
	const struct kind_node *node;
	size_t at = 0;

	while ((node = map_each(&kube->kinds.nodes, &at)))
		kube_nodes_retell(kube->nodes, node->name);
}

/* --- what nodes lack ------------------------------------------------------ */

/* Returns what is to be told of a node, on the heap, or NULL. */
typedef char *lack_fn(const struct kube *kube, const struct kind_node *node);

static char *why_closed(const struct kube *kube, const struct kind_node *node)
{
	const char *why = node->closed ? node->closed : node->wrong;

	(void)kube;
	return why ? xstrdup(why) : NULL;
}

static char *what_is_odd(const struct kube *kube, const struct kind_node *node)
{
	(void)kube;
	return node->odd ? xstrdup(node->odd) : NULL;
}

static char *what_is_gone(const struct kube *kube, const struct kind_node *node)
{
	for (uint32_t i = 0; node->nslices && !node->stale && i < node->n;
	     i++) {
		const struct kind_dev *dev = &node->dev[i];

		if (!dev->listed && kube_devices_use(kube, dev->kind, dev->pool,
		                                     dev->device) == KIND_OURS)
			return xasprintf("no longer lists %s '%s', which a job "
			                 "has",
			                 word(kube, dev->kind), dev->device);
	}
	return NULL;
}

struct lack {
	const struct kube *kube;
	lack_fn *fn;
};

static bool has_lack(const void *node, const void *arg)
{
	const struct kind_node *it = node;
	const struct lack *lack = arg;
	char *text = kube_nodes_is_there(lack->kube->nodes, it->name)
	                 ? lack->fn(lack->kube, it)
	                 : NULL;
	bool ret = text != NULL;

	free(text);
	return ret;
}

/* Append what fn says of the first node in order of their names, and how many
 * more there are. */
static void put_lack(struct kube *kube, lack_fn *fn, struct buf *out)
{
	struct lack lack = { kube, fn };
	size_t n;
	const struct kind_node *first =
	    kube_first(&kube->kinds.nodes, has_lack, &lack, &n);
	char *text;

	if (!first)
		return;
	text = fn(kube, first);
	buf_printf(out, "%snode '%s' %s", out->len ? "; " : "", first->name,
	           text);
	if (n > 1)
		buf_printf(out, ", and %zu more nodes likewise", n - 1);
	free(text);
}

/* Append the name of a slice that is not for one node. */
static void put_astray(struct kube *kube, struct buf *out)
{
	const struct kind_slice *s, *first = NULL;
	size_t at = 0;

	while ((s = map_each(&kube->kinds.slices, &at)))
		if (!s->node &&
		    (!first || strcmp(s->slice.name, first->slice.name) < 0))
			first = s;
	if (first)
		buf_printf(out,
		           "%sResourceSlice '%s' lists %s of no single node: "
		           "jobs do not get them",
		           out->len ? "; " : "", first->slice.name,
		           word(kube, first->kind));
}

void kube_kinds_lacks(struct kube *kube, struct buf *out)
{
	put_lack(kube, why_closed, out);
	put_lack(kube, what_is_odd, out);
	put_lack(kube, what_is_gone, out);
	put_astray(kube, out);
}

/* --- handle what the watches report --------------------------------------- */

static void slice_free(struct kube *kube, struct kind_slice *s)
{
	map_del(&kube->kinds.slices, kube_text_key(s->slice.name));
	if (s->node) {
		LIST_REMOVE(s, of_node);
		s->node->nslices--;
		s->node->stale = true;
		kube_nodes_retell(kube->nodes, s->node->name);
	}
	kube_slice_fini(&s->slice);
	free(s);
}

/* Add a slice of a kind, which it reads. */
static void add_slice(struct kube *kube, const json_t *obj, const char *name,
                      uint8_t kind)
{
	struct kind_slice *s = xcalloc(1, sizeof(*s));

	s->kind = kind;
	if (kube_slice_read(obj, kube->pool->kinds[kind].driver, &s->slice)) {
		s->node = intern(kube, s->slice.node);
		LIST_INSERT_HEAD(&s->node->slices, s, of_node);
		s->node->nslices++;
		s->node->stale = true;
		map_set(&kube->kinds.pools, pool_key(kind, s->slice.pool),
		        s->node);
		kube_nodes_retell(kube->nodes, s->node->name);
	} else {
		s->slice.name = xstrdup(name);
	}
	map_set(&kube->kinds.slices, kube_text_key(name), s);
}

static void on_slice(struct kube *kube, const json_t *obj, bool deleted)
{
	const char *name =
	    kube_text_at(json_object_get(obj, "metadata"), "name");
	const char *driver =
	    kube_word_at(json_object_get(obj, "spec"), "driver");
	int kind = kube_kinds_of(kube->pool, driver);
	struct kind_slice *s =
	    name ? map_find(&kube->kinds.slices, kube_text_key(name)) : NULL;

	if (s)
		slice_free(kube, s);
	if (name && !deleted && kind >= 0)
		add_slice(kube, obj, name, (uint8_t)kind);
}

/* Free the slices that are marked; if `with`, also those that are not. */
static void drop(struct kube *kube, bool with)
{
	struct map *slices = &kube->kinds.slices;
	uint64_t *gone = xcalloc(slices->n + 1, sizeof(*gone));
	struct kind_slice *s;
	size_t n = 0, at = 0;

	while ((s = map_each(slices, &at)))
		if (with || s->marked)
			gone[n++] = kube_text_key(s->slice.name);
	for (size_t i = 0; i < n; i++)
		slice_free(kube, map_find(slices, gone[i]));
	free(gone);
}

void kube_kinds_news(struct kube *kube, enum kube_news news, json_t *obj)
{
	struct kind_slice *s;
	size_t at = 0;

	if (news == KUBE_RESET)
		while ((s = map_each(&kube->kinds.slices, &at)))
			s->marked = true;
	else if (news == KUBE_SYNCED)
		drop(kube, false);
	else if (news != KUBE_TROUBLE)
		on_slice(kube, obj, news == KUBE_DELETED);
}

void kube_kinds_class_news(struct kube *kube, enum kube_news news, json_t *obj)
{
	const struct conf_pool *pool = kube->pool;
	const char *name =
	    kube_word_at(json_object_get(obj, "metadata"), "name");

	for (size_t i = 0; i < pool->nkinds; i++) {
		if (!pool->kinds[i].class ||
		    strcmp(pool->kinds[i].class, name) != 0)
			continue;
		json_decref(kube->kinds.class[i]);
		kube->kinds.class[i] =
		    news == KUBE_DELETED ? NULL : json_incref(obj);
	}
}

void kube_kinds_free(struct kube *kube)
{
	struct kube_kinds *kinds = &kube->kinds;
	struct kind_node *node;
	size_t at = 0;

	drop(kube, true);
	while ((node = map_each(&kinds->nodes, &at))) {
		for (uint32_t i = 0; i < node->n; i++)
			dev_fini(&node->dev[i]);
		set_told(node, &(struct kube_kinds_told){ .n = 0 });
		free(node->dev);
		free(node->name);
		free(node->wrong);
		free(node->odd);
		free(node->closed);
		free(node);
	}
	for (int i = 0; i < DEVICE_KINDS; i++)
		json_decref(kinds->class[i]);
	map_free(&kinds->slices);
	map_free(&kinds->nodes);
	map_free(&kinds->pools);
}
