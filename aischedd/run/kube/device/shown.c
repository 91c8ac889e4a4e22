/* shown.c - the GPUs that a node's ResourceSlices list, and their numbers */
#include "aischedd/run/kube/device/shown.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/device/counters.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/device/first.h"
#include "aischedd/run/kube/device/made.h"
#include "aischedd/run/kube/device/parts.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/slice.h"
#include "libcommon/mem.h"

enum { MAX_SLICES = 64 /* slices of a node; no driver makes more */ };

static struct kube_shown *find(const struct kube *kube, const char *node)
{
	return map_find(&kube->devices.nodes, kube_text_key(node));
}

static struct kube_shown *intern(struct kube *kube, const char *name)
{
	struct kube_shown *node = find(kube, name);

	if (node)
		return node;
	node = xcalloc(1, sizeof(*node));
	node->name = xstrdup(name);
	LIST_INIT(&node->slices);
	map_set(&kube->devices.nodes, kube_text_key(name), node);
	return node;
}

static void touch(struct kube *kube, struct kube_shown *node)
{
	kube_nodes_retell(kube->nodes, node->name);
}

void kube_shown_touch_pool(struct kube *kube, const char *pool)
{
	struct kube_shown *node =
	    map_find(&kube->devices.pools, kube_text_key(pool));

	if (node)
		touch(kube, node);
}

/* --- the numbers of GPUs -------------------------------------------------- */

static int number_of(const struct kube_shown *node, const char *pool,
                     const char *name, size_t pool_len)
{
	for (uint32_t i = 0; i < node->n; i++)
		if (node->gpu[i].name && !strcmp(node->gpu[i].name, name) &&
		    strlen(node->gpu[i].pool) == pool_len &&
		    !memcmp(node->gpu[i].pool, pool, pool_len))
			return (int)i;
	return -1;
}

int kube_shown_number(const struct kube_shown *node, const char *pool,
                      const char *name)
{
	return number_of(node, pool, name, strlen(pool));
}

static void number(struct kube_shown *node, uint32_t i, char *pool, char *name)
{
	node->gpu[i] = (struct kube_numbered){ .pool = pool,
		                               .name = name,
		                               .said.numa = -1 };
	if (i >= node->n)
		node->n = i + 1;
}

/* Parse the next device of "0=POOL/NAME,3=POOL/NAME" at *at, and move *at
 * behind it. *pool points into the text; the caller owns *name. Returns false
 * at the end, or if the text is malformed. */
static bool next_gpu(const char **at, unsigned long *i, const char **pool,
                     size_t *pool_len, char **name)
{
	char *eq;
	const char *slash, *end;

	*i = strtoul(*at, &eq, 10);
	if (!isdigit((unsigned char)**at) || *eq != '=' || *i >= LIMIT_GPUS)
		return false;
	*pool = eq + 1;
	end = *pool + strcspn(*pool, ",");
	slash = memrchr(*pool, '/', (size_t)(end - *pool));
	if (!slash || slash + 1 == end)
		return false;
	*pool_len = (size_t)(slash - *pool);
	*name = xstrndup(slash + 1, (size_t)(end - slash - 1));
	*at = end + (*end == ',');
	return true;
}

void kube_shown_seed(struct kube *kube, const char *name, const char *gpus)
{
	struct kube_shown *node = *name ? intern(kube, name) : NULL;
	size_t len;
	unsigned long i;
	const char *pool;
	char *gpu;

	while (node && next_gpu(&gpus, &i, &pool, &len, &gpu)) {
		if (node->gpu[i].name || number_of(node, pool, gpu, len) >= 0)
			free(gpu);
		else
			number(node, (uint32_t)i, xstrndup(pool, len), gpu);
	}
}

bool kube_shown_first(const char *gpus, char **pool, char **name)
{
	unsigned long i;
	const char *at;
	size_t len;

	if (!next_gpu(&gpus, &i, &at, &len, name))
		return false;
	*pool = xstrndup(at, len);
	return true;
}

/* Returns the numbers of the claim's devices `from` to `to` - 1, one bit each.
 */
static uint64_t bits_between(const struct kube *kube,
                             const struct kube_claimed *claim, uint32_t from,
                             uint32_t to)
{
	const struct kube_shown *node = find(kube, claim->node);
	const char *at = claim->gpus, *pool;
	uint64_t bits = 0;
	unsigned long i;
	size_t len;
	char *gpu;

	for (uint32_t n = 0; node && next_gpu(&at, &i, &pool, &len, &gpu);
	     n++) {
		int k = number_of(node, pool, gpu, len);

		if (k >= 0 && n >= from && n < to)
			bits |= UINT64_C(1) << k;
		free(gpu);
	}
	return bits;
}

uint64_t kube_devices_bits(const struct kube *kube,
                           const struct kube_claimed *claim)
{
	return bits_between(kube, claim, 0, UINT32_MAX);
}

uint64_t kube_devices_bits_of(const struct kube *kube,
                              const struct kube_claimed *claim, uint32_t index)
{
	uint32_t n = 1, each;

	for (const char *at = claim->gpus; (at = strchr(at, ',')); at++)
		n++;
	each = n / claim->npods;
	for (uint32_t i = 0; i < claim->npods; i++)
		if (claim->pod[i] == index)
			return bits_between(kube, claim, i * each,
			                    (i + 1) * each);
	return 0;
}

/* --- GPUs of valid slices ------------------------------------------------- */

bool kube_shown_counts(const struct kube_shown *node,
                       const struct kube_slice *slice, int64_t *ret_n)
{
	const struct kube_seen_slice *s;

	*ret_n = 0;
	LIST_FOREACH(s, &node->slices, of_node) {
		if (strcmp(s->slice.pool, slice->pool) != 0)
			continue;
		if (s->slice.generation > slice->generation)
			return false;
		*ret_n += s->slice.generation == slice->generation;
	}
	return true;
}

/* Compare the numbers in names as numbers: gpu-2 is before gpu-10. */
static int compare_names(const char *a, const char *b)
{
	size_t la = strcspn(a, "0123456789"), lb = strcspn(b, "0123456789");
	long na, nb;

	if (la != lb || strncmp(a, b, la) != 0)
		return strcmp(a, b);
	na = strtol(a + la, NULL, 10);
	nb = strtol(b + lb, NULL, 10);
	return na != nb ? (na > nb) - (na < nb) : strcmp(a, b);
}

static int compare(const void *a, const void *b)
{
	const struct kube_found *x = a, *y = b;
	int by_pool = strcmp(x->pool, y->pool);

	return by_pool ? by_pool : compare_names(x->name, y->name);
}

/* Returns why the device is not given to jobs, or NULL. */
static const char *why_left_out(const struct kube *kube,
                                struct kube_shown *node, const char *pool,
                                const struct kube_gpu *gpu)
{
	if (gpu->counted && !kube_counters_is_whole(node, pool, gpu))
		return "shows parts of GPUs only, which are not given to jobs";
	if (gpu->shared && kube->pool->gpu_sharing != SHARING_CAPACITY)
		return "shows only GPUs that pods may share, which are not "
		       "given to jobs: set gpu_sharing = capacity";
	return NULL;
}

/* Collect the GPUs of the node's valid slices in ret. Returns how many there
 * are (at most LIMIT_GPUS), and sets node->wrong if something is wrong with the
 * slices. */
static uint32_t collect(const struct kube *kube, struct kube_shown *node,
                        struct kube_found *ret)
{
	const struct kube_seen_slice *s;
	const char *left_out = NULL;
	uint32_t n = 0;
	int64_t have;

	LIST_FOREACH(s, &node->slices, of_node) {
		const struct kube_slice *slice = &s->slice;

		if (!kube_shown_counts(node, slice, &have))
			continue;
		if (have != slice->count && !node->wrong)
			node->wrong = xasprintf(
			    "shows half of its devices (%" PRId64 " of %" PRId64
			    " slices of generation %" PRId64 ")",
			    have, slice->count, slice->generation);
		for (uint32_t i = 0; i < slice->ngpus; i++) {
			const char *why = why_left_out(kube, node, slice->pool,
			                               &slice->gpu[i]);

			left_out = why ? why : left_out;
			if (why || slice->gpu[i].is_part)
				continue;
			if (n < LIMIT_GPUS)
				ret[n] =
				    (struct kube_found){ slice->pool,
					                 slice->gpu[i].name,
					                 &slice->gpu[i], NULL };
			n++;
		}
	}
	n = kube_parts_collect(node, ret, n);
	kube_counters_check(node, ret, n < LIMIT_GPUS ? n : LIMIT_GPUS);
	if (n > LIMIT_GPUS && !node->wrong)
		node->wrong = xasprintf("shows more than %d GPUs", LIMIT_GPUS);
	if (!n && left_out && !node->wrong)
		node->wrong = xstrdup(left_out);
	return n < LIMIT_GPUS ? n : LIMIT_GPUS;
}

/* Whether this GPU keeps its number: because a slice lists it, or because a
 * ResourceClaim has it and a slice may list it again. */
static bool is_taken(const struct kube *kube, const struct kube_numbered *gpu)
{
	return gpu->shown || gpu->part ||
	       (gpu->name &&
	        kube_devices_is_claimed(kube, gpu->pool, gpu->name));
}

static void free_number(struct kube_numbered *gpu)
{
	free(gpu->pool);
	free(gpu->name);
	free(gpu->said.type);
	free(gpu->said.root);
}

static void put_found(struct kube_numbered *gpu, const struct kube_found *found)
{
	const struct kube_gpu *it = found->gpu ? found->gpu : found->part;

	gpu->shown = found->gpu;
	gpu->part = found->part;
	text_set(&gpu->said.type, it->type);
	text_set(&gpu->said.root, it->root);
	gpu->said.numa = it->numa;
	gpu->said.seen = true;
	gpu->said.whole = found->gpu != NULL;
	gpu->said.mem_mib = found->gpu ? kube_capacities_mem(&it->caps) : 0;
	memcpy(gpu->said.part, it->part, sizeof(gpu->said.part));
}

/* Number the GPUs found in the slices: a GPU that has a number keeps it, the
 * others get the lowest free numbers. */
static void deal(const struct kube *kube, struct kube_shown *node,
                 const struct kube_found *found, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int k = kube_shown_number(node, found[i].pool, found[i].name);

		if (k >= 0)
			put_found(&node->gpu[k], &found[i]);
	}
	for (uint32_t i = 0, k = 0; i < n; i++) {
		const char *pool = found[i].pool, *name = found[i].name;

		if (kube_shown_number(node, pool, name) >= 0)
			continue;
		while (k < LIMIT_GPUS && is_taken(kube, &node->gpu[k]))
			k++;
		if (k < LIMIT_GPUS)
			free_number(&node->gpu[k]);
		if (k < LIMIT_GPUS) {
			number(node, k, xstrdup(pool), xstrdup(name));
			put_found(&node->gpu[k], &found[i]);
		}
	}
}

/* Forget what slices say about the GPUs; these keep their numbers. */
static void forget(struct kube_shown *node)
{
	for (uint32_t i = 0; i < node->n; i++) {
		node->gpu[i].shown = node->gpu[i].part = NULL;
		node->gpu[i].parts = 0;
		node->gpu[i].model = MIG_NONE;
	}
	node->mig = MIG_NONE;
}

/* Update the node's GPUs from its slices. If something is wrong with the
 * slices, the GPUs keep their numbers, but none of them is given to jobs. */
static void look(const struct kube *kube, struct kube_shown *node)
{
	struct kube_found found[LIMIT_GPUS];
	uint32_t n;

	node->stale = false;
	text_set(&node->wrong, NULL);
	text_set(&node->unknown, NULL);
	text_set(&node->unmade, NULL);
	forget(node);
	if (node->nslices > MAX_SLICES) {
		node->wrong =
		    xasprintf("shows more than %d slices", MAX_SLICES);
		return;
	}
	n = collect(kube, node, found);
	qsort(found, n, sizeof(*found), compare);
	for (uint32_t i = 1; i < n && !node->wrong; i++)
		if (!compare(&found[i - 1], &found[i]))
			node->wrong =
			    xasprintf("shows device '%s' twice", found[i].name);
	if (!node->wrong)
		deal(kube, node, found, n);
	if (!node->wrong)
		kube_parts_lay(node);
	if (!node->wrong)
		kube_made_lay(node);
}

/* --- the GPUs of a node as reported to the daemon ------------------------- */

/* Returns the index in kube_gpu.part of the largest partition size (8, 4 or 2)
 * that the driver reports for all GPUs of the node; -1: none. GPUs in the same
 * partition have fast links. */
static int link_part(const struct kube_shown *node)
{
	for (int p = 2; p >= 0; p--) {
		bool all = node->n > 0;

		for (uint32_t i = 0; i < node->n; i++)
			all &= !node->gpu[i].said.whole ||
			       node->gpu[i].said.part[p] >= 0;
		if (all)
			return p;
	}
	return -1;
}

/* Set ret->link[] to the partition of each GPU. Partitions are numbered from 0
 * in order of their first GPUs. */
static void put_links(const struct kube_shown *node, struct kube_gpus *ret)
{
	int p = link_part(node), of[LIMIT_GPUS], n = 0, k;

	for (uint32_t i = 0; p >= 0 && i < node->n; i++) {
		if (!node->gpu[i].said.whole)
			continue;
		for (k = 0; k < n; k++)
			if (of[k] == node->gpu[i].said.part[p])
				break;
		if (k == n)
			of[n++] = node->gpu[i].said.part[p];
		ret->link[i] = (uint8_t)k;
	}
}

/* Returns the capacities of a GPU, if it is shared and a slice lists it. */
static const struct kube_capacities *caps_of(const struct kube_numbered *gpu)
{
	return gpu->shown && gpu->shown->shared ? &gpu->shown->caps : NULL;
}

/* Returns how many thousandths of the GPU are held. closed: no GPU of the node
 * may be given to jobs. */
static uint16_t held_of(const struct kube *kube,
                        const struct kube_numbered *gpu, bool closed)
{
	uint32_t ours = 0, used = 0;

	if (gpu->name)
		used = kube_devices_used(kube, gpu->pool, gpu->name,
		                         caps_of(gpu), &ours);
	if (closed || !gpu->shown || gpu->shown->tainted)
		used = 1000;
	return used > ours ? (uint16_t)(used - ours) : 0;
}

/* Put what all GPUs of the node have in common. */
static void put_common(const struct kube_numbered *gpu, bool first,
                       struct kube_gpus *ret)
{
	const char *type = gpu->said.type;

	if (first)
		ret->type = type;
	else if (!ret->type || !type || strcmp(ret->type, type) != 0)
		ret->type = NULL;
	ret->numas_known &=
	    gpu->said.numa >= 0 && gpu->said.numa < LIMIT_SOCKETS;
}

/* Put what all GPUs that jobs can have as a whole have in common. */
static void put_whole(const struct kube *kube, const struct kube_numbered *gpu,
                      bool first, struct kube_gpus *ret)
{
	if (first || gpu->said.mem_mib < ret->mem_mib)
		ret->mem_mib = gpu->said.mem_mib;
	ret->shares =
	    (first || ret->shares) && gpu->shown &&
	    (gpu->shown->shared || kube->pool->gpu_sharing == SHARING_CLAIMS);
}

static bool is_listed(const struct kube_numbered *gpu)
{
	return gpu->shown || gpu->part;
}

/* Put what slices say. A GPU that they no longer list keeps its place, and a
 * node of which they list none, as half of them are missing, what all of them
 * have in common: so while a driver starts again, the daemon sees no change but
 * that the GPUs are held. */
static void put_gpus(const struct kube *kube, const struct kube_shown *node,
                     struct kube_gpus *ret)
{
	bool first = true, first_whole = true, none = true;

	ret->n = node->n;
	ret->numas_known = true;
	for (uint32_t i = 0; i < node->n; i++)
		none &= !is_listed(&node->gpu[i]);
	for (uint32_t i = 0; i < node->n; i++) {
		const struct kube_numbered *gpu = &node->gpu[i];

		ret->root[i] = gpu->said.root;
		if (gpu->said.numa >= 0 && gpu->said.numa < LIMIT_SOCKETS)
			ret->numa[i] = (uint8_t)gpu->said.numa;
		if (none ? !gpu->said.seen : !is_listed(gpu))
			continue;
		if (gpu->shown || (none && gpu->said.whole)) {
			put_whole(kube, gpu, first_whole, ret);
			first_whole = false;
		}
		put_common(gpu, first, ret);
		first = false;
	}
	put_links(node, ret);
}

/* Whether the container runtime of the node is too old for ResourceClaims: it
 * would run pods without their devices, and report no error. */
static bool is_old(const char *runtime)
{
	static const struct {
		const char *name;
		long major, minor;
	} first[] = { { "containerd://", 1, 7 }, { "cri-o://", 1, 23 } };

	for (size_t i = 0; runtime && i < ARRAY_SIZE(first); i++) {
		size_t len = strlen(first[i].name);
		long major, minor = 0;
		char *end;

		if (strncmp(runtime, first[i].name, len) != 0)
			continue;
		major = strtol(runtime + len, &end, 10);
		if (*end == '.')
			minor = strtol(end + 1, NULL, 10);
		return major < first[i].major ||
		       (major == first[i].major && minor < first[i].minor);
	}
	return false;
}

char *kube_shown_why_shut(const struct kube *kube,
                          const struct kube_node_said *said, const char *what)
{
	if (!kube->sight.synced[SEE_GRANTS] ||
	    kube->sight.blind[SEE_GRANTS].code)
		return xasprintf("may have given its %s to others: "
		                 "ResourceClaims cannot be listed",
		                 what);
	if (is_old(said->runtime))
		return xasprintf("has %s, which gives pods no devices of "
		                 "claims: containerd 1.7 or cri-o 1.23 is "
		                 "needed",
		                 said->runtime);
	if (!said->dedicated && !kube->pool->devices_shared)
		return xasprintf("may have its %s given by other schedulers, "
		                 "too: taint it with aisched.io/dedicated, or "
		                 "set devices_shared",
		                 what);
	return NULL;
}

/* Returns why no GPU of the node may be given to jobs, or NULL. */
static char *why_closed(const struct kube *kube, const struct kube_shown *node,
                        const struct kube_node_said *said)
{
	char *why = kube_shown_why_shut(kube, said, "GPUs");

	return why || !node->wrong ? why : xstrdup(node->wrong);
}

#define BOTH "has GPUs by plugin and by DRA: one of them must go"

bool kube_devices_has(const struct kube *kube, const char *name)
{
	const struct kube_shown *node = find(kube, name);

	return kube->pool->devices != DEVICES_PLUGIN && node && node->nslices;
}

bool kube_devices_show(struct kube *kube, const char *name,
                       const struct kube_node_said *said, struct kube_gpus *ret)
{
	struct kube_shown *node = find(kube, name);

	*ret = (struct kube_gpus){ 0 };
	if (kube->pool->devices == DEVICES_PLUGIN)
		return false;
	if (!node || !node->nslices || !kube->devices.known) {
		if (node)
			text_set(&node->closed, NULL);
		return kube->pool->devices == DEVICES_DRA;
	}
	if (node->stale)
		look(kube, node);
	put_gpus(kube, node, ret);
	free(node->closed);
	node->closed = why_closed(kube, node, said);
	if (kube->pool->devices == DEVICES_AUTO && said->have.gpus > 0) {
		ret->drain = BOTH;
		text_set(&node->closed, BOTH);
	}
	if (is_old(said->runtime))
		ret->n = 0; /* report a node without GPUs */
	for (uint32_t i = 0; i < ret->n; i++) {
		ret->held[i] =
		    held_of(kube, &node->gpu[i], node->closed != NULL);
		if (kube_counters_are_used(kube, node, &node->gpu[i]))
			ret->held[i] = held_of(kube, &node->gpu[i], true);
	}
	kube_parts_put(kube, node, ret);
	kube_made_put(kube, node, ret);
	return true;
}

/* Returns how many GPUs of the node have a number but are in no slice; *ret:
 * the first of them. */
static uint32_t find_missing(const struct kube_shown *node, uint32_t *ret)
{
	uint32_t n = 0;

	for (uint32_t i = node->n; i--;)
		if (node->gpu[i].name && !node->gpu[i].shown &&
		    !node->gpu[i].part) {
			*ret = i;
			n++;
		}
	return n;
}

static bool has_missing(const void *node, const void *arg)
{
	const struct kube_shown *it = node;
	const struct kube *kube = arg;
	uint32_t gpu;

	return !it->closed && !it->stale && it->nslices &&
	       kube_nodes_is_there(kube->nodes, it->name) &&
	       find_missing(it, &gpu);
}

/* Append a text that names a node whose slices no longer list all GPUs, and
 * counts others. */
static void put_missing(struct kube *kube, struct buf *out)
{
	uint32_t gpu = 0, missing;
	size_t n;
	const struct kube_shown *first =
	    kube_first(&kube->devices.nodes, has_missing, kube, &n);

	if (!first)
		return;
	missing = find_missing(first, &gpu);
	buf_printf(out,
	           "%snode '%s' lists %" PRIu32 " of %" PRIu32
	           " GPUs: GPU %" PRIu32 " (%s) is missing",
	           out->len ? "; " : "", first->name, first->n - missing,
	           first->n, gpu, first->gpu[gpu].name);
	if (missing > 1)
		buf_printf(out, ", and %" PRIu32 " more", missing - 1);
	buf_puts(out, " (a restart of aischedd forgets GPUs that no job has)");
	if (n > 1)
		buf_printf(out, "; %zu more nodes lack some", n - 1);
}

static bool is_closed(const void *node, const void *arg)
{
	const struct kube_shown *it = node;
	const struct kube *kube = arg;

	return it->closed && kube_nodes_is_there(kube->nodes, it->name);
}

static void put_closed(struct kube *kube, struct buf *out)
{
	size_t n;
	const struct kube_shown *first =
	    kube_first(&kube->devices.nodes, is_closed, kube, &n);

	if (!first)
		return;
	buf_printf(out, "%snode '%s' %s", out->len ? "; " : "", first->name,
	           first->closed);
	if (n > 1)
		buf_printf(out, "; GPUs of %zu more are not given", n - 1);
}

static bool lists_unknown(const void *node, const void *arg)
{
	const struct kube_shown *it = node;
	const struct kube *kube = arg;

	return it->unknown && !it->closed &&
	       kube_nodes_is_there(kube->nodes, it->name);
}

static bool lists_unmade(const void *node, const void *arg)
{
	const struct kube_shown *it = node;
	const struct kube *kube = arg;

	return it->unmade && !it->closed &&
	       kube_nodes_is_there(kube->nodes, it->name);
}

/* Append what the first of n nodes lists that no job can ask for. */
static void put_listed(const struct kube_shown *first, size_t n,
                       const char *what, const char *name, const char *why,
                       struct buf *out)
{
	buf_printf(out, "%snode '%s' lists %s '%s'%s", out->len ? "; " : "",
	           first->name, what, name, why);
	if (n > 1)
		buf_printf(out, ", and %zu more list such", n - 1);
}

void kube_shown_lacks(struct kube *kube, struct buf *out)
{
	const struct map *nodes = &kube->devices.nodes;
	const struct kube_shown *first;
	size_t n;

	put_closed(kube, out);
	put_missing(kube, out);
	first = kube_first(nodes, lists_unknown, kube, &n);
	if (first)
		put_listed(first, n, "partition", first->unknown,
		           ", of a MIG profile that aisched does not know: "
		           "jobs cannot have it",
		           out);
	first = kube_first(nodes, lists_unmade, kube, &n);
	if (first)
		put_listed(first, n, "partitions of GPU", first->unmade,
		           " that are not those of a MIG model that aisched "
		           "knows: jobs cannot have them",
		           out);
}

/* Returns the device that a pod gets of a GPU: the GPU, or this partition of
 * it; NULL: no slice lists it. */
static const struct kube_gpu *device_of(const struct kube_shown *node,
                                        uint32_t i, struct kube_part part)
{
	if (i >= node->n)
		return NULL;
	return part.units ? kube_parts_find(node, &node->gpu[i], part)
	                  : node->gpu[i].shown;
}

bool kube_devices_find(struct kube *kube, const char *name, uint64_t gpus,
                       uint32_t milli, struct kube_part part,
                       struct kube_given *ret)
{
	struct kube_shown *node = find(kube, name);

	*ret =
	    (struct kube_given){ .milli = milli, .part = part, .node = name };
	if (!node)
		return !gpus;
	if (node->stale)
		look(kube, node);
	for (uint32_t i = 0; i < LIMIT_GPUS; i++) {
		const struct kube_gpu *gpu;

		if (!(gpus >> i & 1))
			continue;
		gpu = device_of(node, i, part);
		if (!gpu)
			return false;
		ret->gpu[ret->n].pool = node->gpu[i].pool;
		ret->gpu[ret->n].name = gpu->name;
		ret->gpu[ret->n].of = node->gpu[i].name;
		ret->gpu[ret->n].shown = gpu;
		ret->gpu[ret->n].caps = gpu->shared ? &gpu->caps : NULL;
		ret->gpu[ret->n].set = gpu->set;
		ret->gpu[ret->n++].number = i;
	}
	return true;
}

/* --- handle what the watch reports ---------------------------------------- */

static void slice_free(struct kube *kube, struct kube_seen_slice *s)
{
	struct kube_shown *node = s->node;

	map_del(&kube->devices.slices, kube_text_key(s->slice.name));
	LIST_REMOVE(s, of_node);
	node->nslices--;
	node->stale = true;
	forget(node);
	touch(kube, node);
	kube_slice_fini(&s->slice);
	free(s);
}

static void on_slice(struct kube *kube, const json_t *obj, bool deleted)
{
	const char *name =
	    kube_text_at(json_object_get(obj, "metadata"), "name");
	struct kube_seen_slice *s =
	    name ? map_find(&kube->devices.slices, kube_text_key(name)) : NULL;
	struct kube_slice slice;

	if (s)
		slice_free(kube, s);
	if (deleted || !kube_slice_read(obj, kube->pool->device_driver, &slice))
		return;
	s = xcalloc(1, sizeof(*s));
	s->slice = slice;
	s->node = intern(kube, slice.node);
	LIST_INSERT_HEAD(&s->node->slices, s, of_node);
	s->node->nslices++;
	s->node->stale = true;
	map_set(&kube->devices.slices, kube_text_key(slice.name), s);
	map_set(&kube->devices.pools, kube_text_key(slice.pool), s->node);
	touch(kube, s->node);
}

static void drop(struct kube *kube, bool with)
{
	struct map *slices = &kube->devices.slices;
	uint64_t *gone = xcalloc(slices->n + 1, sizeof(*gone));
	size_t n = 0;

	for (size_t i = 0; i < slices->cap; i++) {
		struct kube_seen_slice *s = slices->slot[i].value;

		if (s && (with || s->marked))
			gone[n++] = slices->slot[i].key;
	}
	for (size_t i = 0; i < n; i++)
		slice_free(kube, map_find(slices, gone[i]));
	free(gone);
}

void kube_shown_news(struct kube *kube, enum kube_news news, json_t *obj)
{
	struct kube_seen_slice *s;
	size_t at = 0;

	if (news == KUBE_RESET)
		while ((s = map_each(&kube->devices.slices, &at)))
			s->marked = true;
	else if (news == KUBE_SYNCED)
		drop(kube, false);
	else if (news != KUBE_TROUBLE)
		on_slice(kube, obj, news == KUBE_DELETED);
}

void kube_devices_known(struct kube *kube)
{
	struct kube_shown *node;
	size_t at = 0;

	if (kube->devices.known)
		return;
	kube->devices.known = true;
	while ((node = map_each(&kube->devices.nodes, &at)))
		touch(kube, node);
	kube_kinds_known(kube);
}

void kube_shown_free(struct kube *kube)
{
	struct kube_shown *node;
	size_t at = 0;

	drop(kube, true);
	while ((node = map_each(&kube->devices.nodes, &at))) {
		for (uint32_t i = 0; i < node->n; i++)
			free_number(&node->gpu[i]);
		free(node->name);
		free(node->wrong);
		free(node->unknown);
		free(node->unmade);
		free(node->closed);
		free(node);
	}
	map_free(&kube->devices.slices);
	map_free(&kube->devices.nodes);
	map_free(&kube->devices.pools);
}
