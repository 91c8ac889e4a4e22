/* shares.c - what queues and users hold, may use and have used */
#include "aischedd/read/shares.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/cluster/used.h"
#include "aischedd/store/ended.h"
#include "libcommon/mem.h"

static struct share_row *add(struct shares *s, uint32_t queue, const char *user)
{
	struct share_row *row;

	s->user = GROW(s->user, s->nusers, &s->cap);
	row = &s->user[s->nusers++];
	*row = (struct share_row){ .queue = queue,
		                   .user = user,
		                   .light = LIGHT_MOST };
	return row;
}

static void add_usages(struct shares *s)
{
	for (size_t i = 0; i < state_nusages(s->state); i++) {
		const struct usage *u = state_usage(s->state, i);
		struct share_row *row =
		    add(s, u->queue, state_user(s->state, u->user)->name);

		row->used = u->used;
		row->part = u->part;
		row->light = u->light;
		row->running = u->running;
		row->pending = u->jobs - u->running;
	}
}

static void add_total(const struct total *total, void *arg)
{
	struct shares *s = arg;
	int queue = conf_queue_find(state_conf(s->state), total->queue);
	struct share_row *row;

	if (queue < 0)
		return;
	row = add(s, (uint32_t)queue, arena_strdup(s->arena, total->user));
	row->cpu_ms = total->cpu_ms;
	row->gpu_ms = total->gpu_ms;
	row->jobs = total->jobs;
}

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

static int by_name(const void *a, const void *b)
{
	const struct share_row *x = a, *y = b;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	return strcmp(x->user, y->user);
}

static int by_use(const void *a, const void *b)
{
	const struct share_row *x = a, *y = b;

	if (x->queue == y->queue && x->used != y->used)
		return x->used > y->used ? -1 : 1;
	return by_name(a, b);
}

/* Merge the state's and the store's rows of the same user. */
static void join(struct shares *s)
{
	size_t n = 0;

	if (s->nusers)
		qsort(s->user, s->nusers, sizeof(*s->user), by_name);
	for (size_t i = 0; i < s->nusers; i++) {
		if (n && !by_name(&s->user[n - 1], &s->user[i]))
			add_to(&s->user[n - 1], &s->user[i]);
		else
			s->user[n++] = s->user[i];
	}
	s->nusers = n;
	if (n)
		qsort(s->user, n, sizeof(*s->user), by_use);
}

static void sum_queues(struct shares *s)
{
	const struct conf *conf = state_conf(s->state);

	int64_t(*held)[RES_N] = xcalloc(conf->nqueues, sizeof(*held));

	state_queues_used(s->state, held);
	s->queue = xcalloc(conf->nqueues, sizeof(*s->queue));
	for (size_t q = 0; q < conf->nqueues; q++) {
		s->queue[q].queue = (uint32_t)q;
		memcpy(s->queue[q].held, held[q], sizeof(*held));
	}
	free(held);
	for (size_t i = 0; i < s->nusers; i++)
		for (int q = (int)s->user[i].queue; q >= 0;
		     q = conf->queues[q].parent)
			add_to(&s->queue[q], &s->user[i]);
}

int shares_init(struct shares *s, struct state *state, struct store *store,
                int64_t now, struct err *err)
{
	*s = (struct shares){ .state = state, .arena = arena_new() };
	state_judge_usage(state, now);
	add_usages(s);
	if (store_totals(store, add_total, s, err) < 0) {
		shares_fini(s);
		return -1;
	}
	join(s);
	sum_queues(s);
	return 0;
}

void shares_fini(struct shares *s)
{
	free(s->user);
	free(s->queue);
	arena_free(s->arena);
}
