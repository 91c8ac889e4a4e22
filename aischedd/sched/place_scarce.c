/* place_scarce.c - how much other jobs need the GPUs of a node */
#include "aischedd/sched/place_scarce.h"

#include <string.h>

#include "libcommon/map.h"

typedef __int128 wide;

/* Jobs with the same pools, GPU type, profile and constraint. */
struct seekers {
	uint32_t req;  /* the request of one of them */
	int64_t gpus;  /* GPUs that they ask for, in thousandths */
	uint8_t *uses; /* by kind of node: 1 if these jobs can use it */
};

enum {
	KINDS = 64, /* if there are more kinds, place_scarce_new() returns
	               NULL */
	/* at most this many groups of jobs (struct seekers) are listed; all
	 * others are assumed to add the same pressure to all kinds */
	SEEKERS = 64,
	SLOTS = 4 * SEEKERS
};

struct place_scarce {
	const struct snap *snap;
	const struct place_index *index;
	uint32_t nclasses, nkinds, nseekers;
	uint32_t *kind;     /* by class: its kind */
	uint32_t *class_of; /* by kind: one of its classes */
	struct seekers *seekers;
	uint32_t *slot;    /* hash table: index in seekers, + 1 */
	int64_t gpus;      /* GPUs that all requests hold or ask for */
	int64_t *free;     /* by kind: its free GPUs */
	int64_t *pressure; /* by kind, see place_scarce_pressure() */
	/* 1 + the value of place_index_changes() when `free` and `pressure`
	 * were computed; 0: not yet computed */
	uint64_t changes;
};

uint32_t place_scarce_nkinds(const struct place_scarce *scarce)
{
	return scarce->nkinds;
}

uint32_t place_scarce_kind(const struct place_scarce *scarce, uint32_t class)
{
	return scarce->kind[class];
}

/* Divide the classes into kinds. Returns false if there are more than KINDS. */
static bool find_kinds(struct place_scarce *c, const struct match *m)
{
	for (uint32_t i = 0; i < c->nclasses; i++) {
		uint32_t k = 0;

		while (k < c->nkinds && !match_same_kind(m, i, c->class_of[k]))
			k++;
		if (k == KINDS)
			return false;
		if (k == c->nkinds)
			c->class_of[c->nkinds++] = i;
		c->kind[i] = k;
	}
	return true;
}

static size_t rule_size(const struct snap *s, uint32_t req)
{
	return (s->req.rule_first[req + 1] - s->req.rule_first[req]) *
	       sizeof(*s->rule);
}

/* Returns the rule of a request: never NULL, even if the rule is empty. */
static const int32_t *rule_of(const struct snap *s, uint32_t req)
{
	static const int32_t none;

	return rule_size(s, req) ? s->rule + s->req.rule_first[req] : &none;
}

static bool are_alike(const struct snap *s, uint32_t a, uint32_t b)
{
	const struct snap_reqs *r = &s->req;

	return r->pools[a] == r->pools[b] && r->gpu_type[a] == r->gpu_type[b] &&
	       r->profile[a] == r->profile[b] &&
	       rule_size(s, a) == rule_size(s, b) &&
	       !memcmp(rule_of(s, a), rule_of(s, b), rule_size(s, a));
}

static uint32_t *find_slot(const struct place_scarce *c, uint32_t req)
{
	const struct snap_reqs *r = &c->snap->req;
	uint64_t hash = hash_bytes(
	    r->pools[req] ^ r->gpu_type[req] ^ (uint64_t)r->profile[req] << 32,
	    rule_of(c->snap, req), rule_size(c->snap, req));
	uint32_t i = hash % SLOTS;

	while (c->slot[i] &&
	       !are_alike(c->snap, c->seekers[c->slot[i] - 1].req, req))
		i = (i + 1) % SLOTS;
	return &c->slot[i];
}

static void join_party(struct place_scarce *c, uint32_t req, int64_t gpus)
{
	uint32_t *slot = find_slot(c, req);

	c->gpus += gpus;
	if (!*slot) {
		if (c->nseekers == SEEKERS)
			return;
		c->seekers[c->nseekers++].req = req;
		*slot = c->nseekers;
	}
	c->seekers[*slot - 1].gpus += gpus;
}

static void find_uses(struct place_scarce *c, struct match *m,
                      struct arena *arena)
{
	for (uint32_t i = 0; i < c->nseekers; i++) {
		struct seekers *p = &c->seekers[i];
		const struct allowed *a = match_req(m, p->req);

		p->uses = arena_array(arena, uint8_t, c->nkinds);
		for (uint32_t k = 0; k < a->nclasses; k++)
			p->uses[c->kind[a->class[k]]] = 1;
	}
}

static void sum_demand(struct place_scarce *c, const int64_t *runs,
                       struct arena *arena)
{
	const struct snap *s = c->snap;
	int64_t *gpus = arena_array(arena, int64_t, s->req.n);

	for (uint32_t i = 0; i < s->pend.n; i++) {
		uint32_t req = s->pend.req[i];
		int64_t n =
		    s->pend.member_first[i + 1] - s->pend.member_first[i];

		gpus[req] += n * s->req.tasks[req] * s->req.gpus[req];
	}
	for (uint32_t i = 0; i < s->req.n; i++) {
		if (gpus[i] + runs[i])
			join_party(c, i, gpus[i] + runs[i]);
	}
}

struct place_scarce *place_scarce_new(const struct snap *s, struct match *m,
                                      const struct place_index *index,
                                      const int64_t *gpus, struct arena *arena)
{
	struct place_scarce *c = arena_array(arena, struct place_scarce, 1);

	*c = (struct place_scarce){
		.snap = s,
		.index = index,
		.nclasses = match_nclasses(m),
	};
	c->kind = arena_array(arena, uint32_t, c->nclasses);
	c->class_of = arena_array(arena, uint32_t, KINDS);
	if (!find_kinds(c, m) || c->nkinds < 2)
		return NULL;
	c->seekers = arena_array(arena, struct seekers, SEEKERS);
	c->slot = arena_array(arena, uint32_t, SLOTS);
	sum_demand(c, gpus, arena);
	if (c->nseekers < 2)
		return NULL;
	find_uses(c, m, arena);
	c->free = arena_array(arena, int64_t, c->nkinds);
	c->pressure = arena_array(arena, int64_t, c->nkinds);
	return c;
}

/* Add the demand of these jobs to the pressure on the kinds that they can use,
 * in proportion to the free GPUs of each kind. */
static void press(struct place_scarce *c, const struct seekers *p, int64_t all)
{
	int64_t has = 0;

	for (uint32_t k = 0; k < c->nkinds; k++)
		has += p->uses[k] ? c->free[k] : 0;
	for (uint32_t k = 0; has && k < c->nkinds; k++) {
		if (p->uses[k])
			c->pressure[k] += (int64_t)((wide)p->gpus * all * 1000 /
			                            ((wide)c->gpus * has));
	}
}

static void work_out(struct place_scarce *c)
{
	int64_t all = 0;

	memset(c->free, 0, c->nkinds * sizeof(*c->free));
	memset(c->pressure, 0, c->nkinds * sizeof(*c->pressure));
	for (uint32_t i = 0; i < c->nclasses; i++) {
		int64_t n = place_index_sum(c->index, i)[RES_GPU];

		c->free[c->kind[i]] += n;
		all += n;
	}
	for (uint32_t i = 0; i < c->nseekers; i++)
		press(c, &c->seekers[i], all);
}

int64_t place_scarce_pressure(struct place_scarce *c, uint32_t kind)
{
	uint64_t changes = place_index_changes(c->index) + 1;

	if (c->changes != changes)
		work_out(c);
	c->changes = changes;
	return c->pressure[kind];
}
