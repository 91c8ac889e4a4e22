/* counters.c - devices that share counters: whole GPUs and parts of them */
#include "aischedd/run/kube/device/counters.h"

#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/device/shown.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/mem.h"

const struct kube_amounts *kube_counters_set(const struct kube_shown *node,
                                             const char *pool, const char *name)
{
	const struct kube_seen_slice *s;
	int64_t n;

	LIST_FOREACH(s, &node->slices, of_node) {
		if (strcmp(s->slice.pool, pool) != 0 ||
		    !kube_shown_counts(node, &s->slice, &n))
			continue;
		for (uint32_t i = 0; i < s->slice.nsets; i++)
			if (!strcmp(s->slice.set[i].name, name))
				return &s->slice.set[i].has;
	}
	return NULL;
}

bool kube_counters_is_whole(struct kube_shown *node, const char *pool,
                            const struct kube_gpu *gpu)
{
	const struct kube_amounts *set;

	if (!gpu->set && !node->wrong)
		node->wrong = xasprintf("lists device '%s' with counters of "
		                        "no set, or of several",
		                        gpu->name);
	if (!gpu->set)
		return false;
	set = kube_counters_set(node, pool, gpu->set);
	if (!set && !node->wrong)
		node->wrong = xasprintf("lists device '%s' with counters of "
		                        "'%s', which no slice lists",
		                        gpu->name, gpu->set);
	return set && set->sum && !gpu->is_part &&
	       gpu->consumes.sum == set->sum;
}

/* Check a partition against the GPUs found. */
static void check_part(struct kube_shown *node, const char *pool,
                       const struct kube_gpu *part,
                       const struct kube_found *found, uint32_t n)
{
	for (uint32_t i = 0; i < n && !node->wrong; i++) {
		const struct kube_gpu *gpu = found[i].gpu;

		if (!gpu || !gpu->uuid || strcmp(found[i].pool, pool) != 0 ||
		    strcmp(gpu->uuid, part->uuid) != 0)
			continue;
		if (!gpu->set || !part->set || strcmp(gpu->set, part->set) != 0)
			node->wrong =
			    xasprintf("lists GPU '%s' and partition '%s' of "
			              "it, without counters that they share",
			              gpu->name, part->name);
	}
}

/* Returns the set of counters that a GPU or its partitions consume, or NULL. */
static const char *set_of(const struct kube_found *found)
{
	return found->gpu ? found->gpu->set : found->part->set;
}

void kube_counters_check(struct kube_shown *node,
                         const struct kube_found *found, uint32_t n)
{
	const struct kube_seen_slice *s;
	int64_t have;

	for (uint32_t i = 0; i < n; i++) {
		const char *a = set_of(&found[i]);

		for (uint32_t k = 0; a && k < i && !node->wrong; k++) {
			const char *b = set_of(&found[k]);

			if (b && !strcmp(a, b) &&
			    !strcmp(found[i].pool, found[k].pool))
				node->wrong = xasprintf(
				    "lists GPUs '%s' and '%s' with the same "
				    "counters",
				    found[k].name, found[i].name);
		}
	}
	LIST_FOREACH(s, &node->slices, of_node) {
		if (!kube_shown_counts(node, &s->slice, &have))
			continue;
		for (uint32_t i = 0; i < s->slice.ngpus; i++)
			if (s->slice.gpu[i].is_part && s->slice.gpu[i].uuid)
				check_part(node, s->slice.pool,
				           &s->slice.gpu[i], found, n);
	}
}

/* Call fn for each device of valid slices that consumes counters of the set. */
static void each(const struct kube_shown *node, const char *pool,
                 const char *set, kube_counters_fn *fn, void *arg)
{
	const struct kube_seen_slice *s;
	int64_t n;

	LIST_FOREACH(s, &node->slices, of_node) {
		if (strcmp(s->slice.pool, pool) != 0 ||
		    !kube_shown_counts(node, &s->slice, &n))
			continue;
		for (uint32_t i = 0; i < s->slice.ngpus; i++) {
			const struct kube_gpu *gpu = &s->slice.gpu[i];

			if (gpu->set && !strcmp(gpu->set, set))
				fn(node, gpu, arg);
		}
	}
}

void kube_counters_each(const struct kube *kube, const char *node,
                        const char *pool, const char *set, kube_counters_fn *fn,
                        void *arg)
{
	const struct kube_shown *shown =
	    map_find(&kube->devices.nodes, kube_text_key(node));

	if (shown)
		each(shown, pool, set, fn, arg);
}

struct sought {
	const struct kube *kube;
	const struct kube_numbered *gpu;
	bool used;
};

static void look_at(const struct kube_shown *node, const struct kube_gpu *gpu,
                    void *arg)
{
	struct sought *sought = arg;

	(void)node;
	sought->used |=
	    strcmp(gpu->name, sought->gpu->name) != 0 &&
	    kube_devices_is_claimed(sought->kube, sought->gpu->pool, gpu->name);
}

bool kube_counters_are_used(const struct kube *kube,
                            const struct kube_shown *node,
                            const struct kube_numbered *gpu)
{
	struct sought sought = { kube, gpu, false };

	if (gpu->shown && gpu->shown->set)
		each(node, gpu->pool, gpu->shown->set, look_at, &sought);
	return sought.used;
}
