/* shares.c - what queues and users hold, may use and have used */
#include "aischedd/read/shares.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/cluster/used.h"
#include "aischedd/store/ended.h"
#include "libcommon/heap.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

enum {
	STEPS_ADD = 3,   /* steps charged for adding to a user's row */
	STEPS_TOTAL = 5, /* steps charged for reading one total */
	TOTALS = 1000    /* totals read by one query */
};

static struct share_row *row_of(struct shares *s, uint32_t queue,
                                const char *user)
{
	void **at =
	    map_at(&s->row_of, hash_bytes(queue + 1, user, strlen(user)));

	steps_add(STEPS_ADD);
	if (*at)
		return &s->user[(uintptr_t)*at - 1];
	s->user = GROW(s->user, s->nusers, &s->cap);
	s->user[s->nusers++] =
	    (struct share_row){ .queue = queue,
		                .user = arena_strdup(s->arena, user),
		                .light = LIGHT_MOST };
	*at = (void *)(uintptr_t)s->nusers;
	return &s->user[s->nusers - 1];
}

static void add_usages(struct shares *s, const struct state *state)
{
	for (size_t i = 0; i < state_nusages(state); i++) {
		const struct usage *u = state_usage(state, i);
		struct share_row *row =
		    row_of(s, u->queue, state_user(state, u->user)->name);

		row->used = u->used;
		row->part = u->part;
		row->light = u->light;
		row->running = u->running;
		row->pending = u->jobs - u->running;
	}
}

/* Copy from the configuration what a reload may change before later slices
 * need it. */
static void add_queues(struct shares *s, const struct state *state)
{
	const struct conf *conf = state_conf(state);
	int64_t(*held)[RES_N] = xcalloc(conf->nqueues, sizeof(*held));
	size_t n = conf->nqueues;

	state_queues_used(state, held);
	s->nqueues = (uint32_t)n;
	s->name = arena_array(s->arena, const char *, n);
	s->parent = arena_array(s->arena, int, n);
	s->queue = arena_array(s->arena, struct share_row, n);
	for (size_t q = 0; q < n; q++) {
		const char *name = conf->queues[q].name;

		s->name[q] = arena_strdup(s->arena, name);
		s->parent[q] = conf->queues[q].parent;
		s->queue[q].queue = (uint32_t)q;
		memcpy(s->queue[q].held, held[q], sizeof(*held));
		map_set(&s->queue_of, hash_bytes(0, name, strlen(name)),
		        (void *)(uintptr_t)(q + 1));
	}
	free(held);
}

void shares_init(struct shares *s, struct state *state, int64_t now)
{
	*s = (struct shares){ .arena = arena_new() };
	state_judge_usage_again(state, now);
	add_queues(s, state);
	add_usages(s, state);
}

/* --- lifetime totals --------------------------------------------------- */

struct some_totals {
	struct shares *s;
	size_t n;
};

static void add_total(const struct total *total, void *arg)
{
	struct some_totals *some = arg;
	struct shares *s = some->s;
	uintptr_t queue = (uintptr_t)map_find(
	    &s->queue_of, hash_bytes(0, total->queue, strlen(total->queue)));
	struct share_row *row;

	steps_add(STEPS_TOTAL);
	if (++some->n == TOTALS) {
		s->last_user = arena_strdup(s->arena, total->user);
		s->last_queue = arena_strdup(s->arena, total->queue);
	}
	if (!queue)
		return;
	row = row_of(s, (uint32_t)queue - 1, total->user);
	row->cpu_ms += total->cpu_ms;
	row->gpu_ms += total->gpu_ms;
	row->jobs += total->jobs;
}

static int read_totals(struct shares *s, struct store *store, struct err *err)
{
	struct some_totals some = { .s = s };

	steps_add(STEPS_QUERY);
	if (store_totals(store, s->last_user, s->last_queue, TOTALS, add_total,
	                 &some, err) < 0)
		return -1;
	s->has_totals = some.n < TOTALS;
	return 0;
}

/* --- sums and order ---------------------------------------------------- */

static void add_to(struct share_row *to, const struct share_row *row)
{
	to->used += row->used;
	to->part += row->part;
	to->light = row->light < to->light ? row->light : to->light;
	to->running += row->running;
	to->pending += row->pending;
	to->cpu_ms += row->cpu_ms;
	to->gpu_ms += row->gpu_ms;
	to->jobs += row->jobs;
}

static void sum_user(struct shares *s, const struct share_row *row)
{
	for (int q = (int)row->queue; q >= 0; q = s->parent[q]) {
		add_to(&s->queue[q], row);
		steps_add(1);
	}
}

static bool is_before(const struct shares *s, uint32_t a, uint32_t b)
{
	const struct share_row *x = &s->user[a], *y = &s->user[b];

	steps_add(1);
	if (x->queue != y->queue)
		return x->queue < y->queue;
	if (x->used != y->used)
		return x->used > y->used;
	return strcmp(x->user, y->user) < 0;
}

#define AT(s, i)        (s)->order[i]
#define LATER(s, a, b)  is_before(s, b, a)
#define PUT(s, i, item) ((s)->order[i] = (item))
HEAP(rank, uint32_t, struct shares *, AT, LATER, PUT)

/* Move the user who comes last in the order from the heap (the first `unsorted`
 * users) to the place behind it. */
static void sort_one(struct shares *s)
{
	size_t end = --s->unsorted;
	uint32_t last = s->order[0];

	rank_sink(s, end, 0, s->order[end]);
	s->order[end] = last;
}

int shares_step(struct shares *s, struct store *store, uint64_t until,
                struct err *err)
{
	for (; !s->has_totals; steps_add(1)) {
		if (steps_so_far >= until)
			return 1;
		if (read_totals(s, store, err) < 0)
			return -1;
	}
	if (!s->order)
		s->order = xcalloc(s->nusers + 1, sizeof(*s->order));
	for (; s->ranked < s->nusers; s->ranked++) {
		if (steps_so_far >= until)
			return 1;
		sum_user(s, &s->user[s->ranked]);
		rank_rise(s, s->ranked, (uint32_t)s->ranked);
		s->unsorted = s->ranked + 1;
	}
	for (; s->unsorted > 1; sort_one(s))
		if (steps_so_far >= until)
			return 1;
	return 0;
}

void shares_fini(struct shares *s)
{
	free(s->user);
	free(s->order);
	map_free(&s->queue_of);
	map_free(&s->row_of);
	arena_free(s->arena);
}
