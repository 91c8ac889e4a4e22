/* capacity.c - the capacity of pools by the hour, and how much of it no
 * job could hold */
#include "aischedd/state/cluster/capacity.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/used.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

/* The names that rollups of capacity have in place of a class; no real class
 * has such a name. */
static const char *const part_class[CAPACITY_PARTS] = { "+offered", "+reserved",
	                                                "+drained", "+down" };

bool rollup_is_capacity(const struct rollup *r, enum capacity_part *ret_part)
{
	if (*r->part[PART_USER])
		return false;
	for (int i = 0; i < CAPACITY_PARTS; i++)
		if (!strcmp(r->part[PART_CLASS], part_class[i]))
			*ret_part = (enum capacity_part)i;
	return true;
}

void state_capacity_since(struct state *state, int64_t since_ms)
{
	state->capacities.since_ms = since_ms;
}

bool state_capacity_stale(const struct state *state)
{
	return state->capacities.nchanges != state->nchanges + 1;
}

/* --- computing the capacity --------------------------------------------- */

static struct capacity *capacity_of(struct state *state,
                                    const struct node *node)
{
	struct capacity_table *t = &state->capacities;
	const char *pool = state->conf->pools[node->pool].name;
	const char *type = node->ngpus && node->gpu_type ? node->gpu_type : "";
	struct capacity *row;

	for (size_t i = 0; i < t->n; i++) {
		char *const *part = t->row[i].rollup[CAPACITY_OFFERED]->part;

		if (!strcmp(part[PART_POOL], pool) &&
		    !strcmp(part[PART_GPU], type))
			return &t->row[i];
	}
	t->row = GROW(t->row, t->n, &t->cap);
	row = &t->row[t->n++];
	*row = (struct capacity){ .waits = false };
	for (int i = 0; i < CAPACITY_PARTS; i++)
		row->rollup[i] =
		    rollup_of_pool(state, part_class[i], pool, type);
	return row;
}

/* Whether capacity_of() returns the same for both nodes; b may be NULL. */
static bool is_alike(const struct node *a, const struct node *b)
{
	return b && a->pool == b->pool && !a->ngpus == !b->ngpus &&
	       (!a->ngpus ||
	        (a->gpu_type && b->gpu_type ? !strcmp(a->gpu_type, b->gpu_type)
	                                    : a->gpu_type == b->gpu_type));
}

/* Returns the part of a node that is down, drained or reserved, which counts
 * the resources that no job holds. Returns CAPACITY_OFFERED for any other
 * node. */
static enum capacity_part rest_of(const struct state *state, uint32_t i,
                                  int64_t now)
{
	const struct node *node = &state->nodes.node[i];

	if (node->gone || node->down)
		return CAPACITY_DOWN;
	if (node->drained || node->cordoned)
		return CAPACITY_DRAINED;
	return state_node_reserved(state, i, now) ? CAPACITY_RESERVED
	                                          : CAPACITY_OFFERED;
}

static void add_node(struct capacity *row, const struct node *node,
                     const struct node_left *left, enum capacity_part rest)
{
	const int64_t all[RES_N] = {
		[RES_CPU] = node->cpu_milli - node->cpu_others,
		[RES_MEM] = node->mem_mib - node->mem_others,
		[RES_GPU] = 1000 * (int64_t)node->ngpus - node->gpu_others,
	};

	for (int r = 0; r < RES_N; r++) {
		if (all[r] <= 0)
			continue;
		row->seen[CAPACITY_OFFERED][r] += all[r];
		if (rest != CAPACITY_OFFERED && left->free[r] > 0)
			row->seen[rest][r] += left->free[r];
	}
}

static void see_nodes(struct state *state, int64_t now)
{
	size_t n = state->nodes.n;
	struct node_left *left = xcalloc(n + 1, sizeof(*left));
	const struct node *last = NULL;
	struct capacity *row = NULL;

	state_nodes_left(state, left);
	for (uint32_t i = 0; i < n; i++) {
		const struct node *node = &state->nodes.node[i];

		if (node->removed || (node->gone && !left[i].jobs))
			continue;
		if (!is_alike(node, last))
			row = capacity_of(state, node);
		last = node;
		row->waits = !state_pool_is_ready(state, node->pool);
		add_node(row, node, &left[i], rest_of(state, i, now));
	}
	free(left);
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Returns the time from which a loaded rollup counts the capacity that the
 * first look finds: the time at which the stored capacity ends, as if nothing
 * had changed while the daemon was down; or now if none was stored. */
static int64_t goes_on_at(const struct state *state, const struct capacity *row,
                          const struct rollup *r, int64_t now_ms)
{
	int64_t stored = row->rollup[CAPACITY_OFFERED]->booked_ms;
	int64_t at = later(stored, state->capacities.since_ms);

	return later(r->booked_ms, stored && at < now_ms ? at : now_ms);
}

/* Count row->seen[part] in the rollup of this part from now on. */
static void count(struct state *state, struct capacity *row, int part,
                  int64_t now_ms)
{
	struct rollup *r = row->rollup[part];
	int64_t by[RATES], at = now_ms;
	bool changed = false;

	if (!row->known)
		at = goes_on_at(state, row, r, now_ms);
	for (int i = 0; i < RATES; i++) {
		by[i] = row->seen[part][i] - row->rate[part][i];
		changed = changed || by[i];
		row->rate[part][i] = row->seen[part][i];
	}
	if (changed)
		rollup_change(state, r, by, 1, at);
}

bool state_look_at_capacity(struct state *state)
{
	struct capacity_table *t = &state->capacities;
	int64_t now_ms = state->wall_ms;

	t->nchanges = state->nchanges + 1;
	for (size_t i = 0; i < t->n; i++) {
		memset(t->row[i].seen, 0, sizeof(t->row[i].seen));
		t->row[i].waits = false;
	}
	see_nodes(state, now_ms / 1000);
	for (size_t i = 0; i < t->n; i++) {
		struct capacity *row = &t->row[i];

		if (row->waits)
			continue;
		/* Count CAPACITY_OFFERED, which is part 0, last: this changes
		 * the booked_ms of its rollup, which goes_on_at() reads for
		 * the other parts. */
		for (int p = CAPACITY_PARTS - 1; p >= 0; p--)
			count(state, row, p, now_ms);
		row->known = true;
	}
	if (state_pool_unready(state) >= 0)
		return false;
	t->since_ms = now_ms;
	return true;
}

/* --- pause while the clock is set -------------------------------------- */

void capacity_pause(struct state *state, int64_t ms)
{
	const struct capacity_table *t = &state->capacities;

	for (size_t i = 0; i < t->n; i++)
		for (int p = 0; p < CAPACITY_PARTS; p++)
			rollup_change(state, t->row[i].rollup[p],
			              t->row[i].rate[p], -1, ms);
}

void capacity_go_on(struct state *state, int64_t ms)
{
	struct capacity_table *t = &state->capacities;

	t->since_ms = ms;
	for (size_t i = 0; i < t->n; i++)
		for (int p = 0; p < CAPACITY_PARTS; p++) {
			struct rollup *r = t->row[i].rollup[p];

			rollup_change(state, r, t->row[i].rate[p], 1,
			              ms > r->booked_ms ? ms : r->booked_ms);
		}
}

void capacity_free(struct state *state)
{
	free(state->capacities.row);
}
