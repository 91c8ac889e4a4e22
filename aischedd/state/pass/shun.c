/* shun.c - nodes that requests shun because of --near and --apart */
#include "aischedd/state/pass/shun.h"

#include "aischedd/state/pass/places.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"
#include "libcommon/topology.h"

enum { NEAR = 1, OFF = 2 };

/* The domains of one level, numbered from 1. */
struct shun_level {
	uint32_t *of;  /* by node: its domain, or 0; NULL: not looked up yet */
	uint8_t *mark; /* by domain: NEAR and OFF, for the request at hand */
};

enum { LEVELS = 1 + LIMIT_LEVELS };

struct shun_domains {
	struct arena *arena;
	uint32_t n;
	struct shun_level level[LEVELS]; /* by level + 1 */
};

struct shun_domain {
	uint32_t level, number; /* level: index in shun_domains.level */
	uint8_t mark;
};

struct shun_domains *shun_domains_new(uint32_t n, struct arena *arena)
{
	struct shun_domains *d = arena_array(arena, struct shun_domains, 1);

	d->arena = arena;
	d->n = n;
	return d;
}

static struct shun_level *level_of(struct shun_domains *d,
                                   const struct state *state, int level)
{
	struct shun_level *l = &d->level[level - SPREAD_NODE];
	struct map number = { 0 };
	uintptr_t last = 0;

	if (l->of)
		return l;
	l->of = arena_array(d->arena, uint32_t, (size_t)d->n + 1);
	l->mark = arena_array(d->arena, uint8_t, (size_t)d->n + 1);
	for (uint32_t i = 0; i < d->n; i++) {
		uint64_t id = place_domain(state, i, level);
		void **at = id ? map_at(&number, id) : NULL;

		if (at && !*at)
			*at = (void *)++last;
		l->of[i] = at ? (uint32_t)(uintptr_t)*at : 0;
	}
	map_free(&number);
	return l;
}

void shun_all_but_near(struct shun_domains *d, const struct state *state,
                       struct shun *shun, int level)
{
	level_of(d, state, level);
	shun->is_near = true;
	shun->near_level = level;
}

void shun_note(struct shun_domains *d, const struct state *state,
               struct shun *shun, uint32_t node, int level, bool near)
{
	struct shun_level *l = level_of(d, state, level);
	uint8_t mark = near ? NEAR : OFF;
	uint32_t number = node < d->n ? l->of[node] : 0;

	if (!number || l->mark[number] & mark)
		return;
	l->mark[number] |= mark;
	*(struct shun_domain *)arena_push(d->arena, &shun->domain,
	                                  sizeof(struct shun_domain)) =
	    (struct shun_domain){ (uint32_t)(l - d->level), number, mark };
}

static void mark_all(struct shun_domains *d, const struct shun *shun, bool on)
{
	const struct shun_domain *it = shun->domain.p;

	for (size_t i = 0; i < shun->domain.n; i++) {
		uint8_t *mark = &d->level[it[i].level].mark[it[i].number];

		*mark = on ? *mark | it[i].mark : 0;
	}
}

void shun_noted(struct shun_domains *d, const struct shun *shun)
{
	mark_all(d, shun, false);
}

/* Collect the levels of the domains that the request shuns. */
static uint32_t list_levels(struct shun_domains *d, const struct shun *shun,
                            const struct shun_level *ret[LEVELS])
{
	const struct shun_domain *it = shun->domain.p;
	uint32_t seen = 0, n = 0;

	for (size_t i = 0; i < shun->domain.n; i++) {
		if (!(it[i].mark & OFF) || seen >> it[i].level & 1)
			continue;
		seen |= 1U << it[i].level;
		ret[n++] = &d->level[it[i].level];
	}
	return n;
}

static bool is_own(const struct shun *shun, uint32_t node)
{
	const uint32_t *own = shun->own.p;

	for (size_t i = 0; i < shun->own.n; i++)
		if (own[i] == node)
			return true;
	return false;
}

void shun_list(struct shun_domains *d, const struct shun *shun,
               struct arena *arena, struct arena_list *ret)
{
	const struct shun_level *off[LEVELS];
	const struct shun_level *near =
	    shun->is_near ? &d->level[shun->near_level - SPREAD_NODE] : NULL;
	uint32_t n = list_levels(d, shun, off);

	if (!near && !n)
		return;
	mark_all(d, shun, true);
	for (uint32_t i = 0; i < d->n; i++) {
		bool shuns = near && !(near->mark[near->of[i]] & NEAR);

		for (uint32_t k = 0; k < n && !shuns; k++)
			shuns = off[k]->mark[off[k]->of[i]] & OFF;
		if (shuns && !is_own(shun, i))
			*(uint32_t *)arena_push(arena, ret, sizeof(uint32_t)) =
			    i;
	}
	mark_all(d, shun, false);
}
