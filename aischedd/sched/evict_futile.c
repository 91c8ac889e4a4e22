/* evict_futile.c - for whom nobody could move */
#include "aischedd/sched/evict_futile.h"

#include <string.h>

static bool same_list(const uint32_t *first, const void *all, size_t size,
                      uint32_t a, uint32_t b)
{
	uint32_t n = first[a + 1] - first[a];

	return first[b + 1] - first[b] == n &&
	       (!n || !memcmp((const char *)all + first[a] * size,
	                      (const char *)all + first[b] * size, n * size));
}

/* Whether b is a with more CPUs or memory for each task, at most. */
static bool asks_no_less(const struct snap *s, uint32_t b, uint32_t a)
{
	const struct snap_reqs *r = &s->req;

	return r->cpus[b] >= r->cpus[a] && r->mem[b] >= r->mem[a] &&
	       r->gpus[b] == r->gpus[a] && r->gpu_type[b] == r->gpu_type[a] &&
	       r->min_tasks[b] == r->min_tasks[a] &&
	       r->nodes[b] == r->nodes[a] &&
	       r->tasks_per_node[b] == r->tasks_per_node[a] &&
	       r->pools[b] == r->pools[a] &&
	       r->exclusive[b] == r->exclusive[a] &&
	       r->one_process[b] == r->one_process[a] &&
	       r->time_limit[b] == r->time_limit[a] &&
	       r->need[b] == r->need[a] && r->like[b] == r->like[a] &&
	       r->numa[b] == r->numa[a] &&
	       r->reservation[b] == r->reservation[a] &&
	       same_list(r->rule_first, s->rule, sizeof(*s->rule), a, b) &&
	       same_list(r->want_first, s->want, sizeof(*s->want), a, b) &&
	       same_list(r->avoid_first, s->avoid, sizeof(*s->avoid), a, b) &&
	       same_list(r->license_first, s->license_use,
	                 sizeof(*s->license_use), a, b);
}

bool vain_has(const struct vains *vs, const struct snap *s,
              const struct demand *d)
{
	uint32_t n = vs->n < VAIN_MAX ? vs->n : VAIN_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct vain *v = &vs->vain[i];

		if (v->queue == d->queue && v->user == d->user &&
		    asks_no_less(s, d->req, v->req))
			return true;
	}
	return false;
}

void vain_add(struct vains *vs, const struct demand *d)
{
	vs->vain[vs->n++ % VAIN_MAX] =
	    (struct vain){ d->req, d->queue, d->user };
}
