/* snap_node.c - copy nodes and reservations into a snapshot */
#include "aischedd/state/pass/snap_node.h"

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/scale.h"
#include "aischedd/state/pass/places.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/snap_build.h"
#include "aischedd/state/pass/snapshot.h"

#include <string.h>

/* --- nodes ------------------------------------------------------------- */

static void push_words(struct build *b, struct arena_list *v,
                       const struct strlist *list)
{
	for (size_t i = 0; i < list->n; i++)
		*(uint32_t *)snapshot_push(b, v, sizeof(uint32_t)) =
		    (uint32_t)snapshot_word(list->s[i], strlen(list->s[i]), b);
}

uint8_t node_status(const struct node *node)
{
	if (scale_coming(node) != NODE_HERE)
		return node->drained ? NODE_DRAIN : NODE_UP;
	return node->gone || node->down ? NODE_DOWN
	       : node->drained || node->cordoned || node->want == WANT_REMOVED
	           ? NODE_DRAIN
	           : NODE_UP;
}

/* The columns of nodes, GPUs, CPUs and NUMA nodes while they are written. At
 * the end, the amounts that jobs hold are subtracted from the free amounts. */
struct columns {
	const char **name;
	uint32_t *pool, *gpu_first, *cpu_first, *feature_first, *taint_first;
	uint8_t *status, *mig, *coming;
	int64_t *cpu_total, *cpu_free, *mem_total, *mem_free, *tmp_total,
	    *tmp_free, *slots, *slots_free, *retry, *weight;

	uint16_t *gpu_free;
	uint32_t *gpu_type;
	uint8_t *gpu_numa, *gpu_link;
	uint16_t *thread_free, *core;
	uint8_t *cpu_numa;
	uint32_t *numa_first;
	int64_t *numa_mem;
	uint32_t ngpus, ncpus, nnumas;
};

/* Subtract what a task uses of a CPU, but not below 0: a suspended job
 * that is now ending may share its CPUs with a job that was started there
 * in the meantime. */
static void take_thread(uint16_t *nfree, uint16_t milli)
{
	*nfree -= milli < *nfree ? milli : *nfree;
}

/* Subtract what the job's tasks in p hold from what is free. A suspended job
 * holds no CPUs. */
static void take_off(const struct build *b, struct job *job,
                     const struct placement *p, const struct columns *c)
{
	const struct state *state = b->state;
	const struct row_key *req = (const void *)placed_key(state, job)->text;

	for (uint32_t i = 0; i < p->ntasks; i++) {
		const struct snap_task *t = &p->task[i];
		uint16_t *gpu = c->gpu_free + c->gpu_first[t->node];
		uint16_t *thread = c->thread_free + c->cpu_first[t->node];
		uint32_t ngpus =
		    c->gpu_first[t->node + 1] - c->gpu_first[t->node];
		uint32_t ncpus =
		    c->cpu_first[t->node + 1] - c->cpu_first[t->node];

		c->mem_free[t->node] -= req->mem;
		c->tmp_free[t->node] -= req->tmp;
		c->slots_free[t->node]--;
		for (uint32_t g = 0; g < ngpus && t->gpus >> g; g++)
			if (t->gpus >> g & 1)
				gpu[g] -= t->gpu_milli;
		if (job->state == JOB_SUSPENDED)
			continue;
		c->cpu_free[t->node] -= req->cpus;
		for (uint32_t u = t->cpu_first; u < t[1].cpu_first; u++)
			if (p->cpu_use[u].cpu < ncpus)
				take_thread(&thread[p->cpu_use[u].cpu],
				            p->cpu_use[u].milli);
	}
}

/* Mark as used the GPUs that processes outside of aisched use. If only their
 * number is known, mark that many of the last free ones. */
static void take_for_others(const struct node *node, uint16_t *gpu_free)
{
	uint32_t left = node->gpus_named ? 0 : node->gpus_others;

	for (uint32_t g = 0; node->gpus_held && g < node->ngpus; g++)
		if (node->gpus_held >> g & 1)
			gpu_free[g] = 0;
	for (uint32_t g = node->ngpus; g-- && left;)
		if (gpu_free[g] == 1000) {
			gpu_free[g] = 0;
			left--;
		}
}

static struct columns node_columns(struct build *b, size_t n)
{
	struct columns c = { 0 };

	c.name = COLUMN(const char *, n);
	c.pool = COLUMN(uint32_t, n);
	c.status = COLUMN(uint8_t, n);
	c.mig = COLUMN(uint8_t, n);
	c.coming = COLUMN(uint8_t, n);
	c.cpu_total = COLUMN(int64_t, n);
	c.cpu_free = COLUMN(int64_t, n);
	c.mem_total = COLUMN(int64_t, n);
	c.mem_free = COLUMN(int64_t, n);
	c.tmp_total = COLUMN(int64_t, n);
	c.tmp_free = COLUMN(int64_t, n);
	c.slots = COLUMN(int64_t, n);
	c.slots_free = COLUMN(int64_t, n);
	c.retry = COLUMN(int64_t, n);
	c.weight = COLUMN(int64_t, n);
	c.gpu_first = COLUMN(uint32_t, n);
	c.cpu_first = COLUMN(uint32_t, n);
	c.numa_first = COLUMN(uint32_t, n);
	c.feature_first = COLUMN(uint32_t, n);
	c.taint_first = COLUMN(uint32_t, n);
	return c;
}

static void put_node(struct build *b, struct columns *c, size_t i)
{
	const struct node *node = &b->state->nodes.node[i];

	c->name[i] = state_node_label(b->state, i);
	c->pool[i] = node->pool;
	c->status[i] = node_status(node);
	c->mig[i] = node_mig(node);
	c->cpu_total[i] = node->cpu_milli;
	c->mem_total[i] = node->mem_mib;
	c->cpu_free[i] = node->cpu_milli - node->cpu_others;
	c->mem_free[i] = node->mem_mib - node->mem_others;
	c->tmp_total[i] = node->tmp_mib;
	c->tmp_free[i] = node->tmp_mib - node->tmp_others;
	c->slots[i] = node->slots ? node->slots : SLOTS_ANY;
	c->slots_free[i] = c->slots[i] - node->slots_others;
	c->coming[i] = (uint8_t)scale_coming(node);
	c->retry[i] = c->coming[i] == NODE_HERE
	                  ? node->retry_at
	                  : scale_ready_at(b->state, node, b->snap->now);
	c->weight[i] = node_weight(node);
	c->gpu_first[i] = c->ngpus;
	c->cpu_first[i] = c->ncpus;
	c->numa_first[i] = c->nnumas;
	c->feature_first[i] = (uint32_t)b->features.n;
	c->taint_first[i] = (uint32_t)b->taints.n;
	if (node->conf) {
		push_words(b, &b->features, &node->conf->features);
		push_words(b, &b->taints, &node->conf->taints);
	}
	if (node->scale && !node->coming)
		push_words(b, &b->features,
		           &state_scale_of(b->state, (uint32_t)i)->features);
	push_words(b, &b->features, &node->features);
	push_words(b, &b->taints, &node->taints);
	c->ngpus += node->ngpus;
	c->ncpus += node->ncpus;
	c->nnumas += node->nnumas;
}

static void device_columns(struct build *b, struct columns *c)
{
	c->gpu_free = COLUMN(uint16_t, c->ngpus);
	c->gpu_type = COLUMN(uint32_t, c->ngpus);
	c->gpu_numa = COLUMN(uint8_t, c->ngpus);
	c->gpu_link = COLUMN(uint8_t, c->ngpus);
	c->thread_free = COLUMN(uint16_t, c->ncpus);
	c->core = COLUMN(uint16_t, c->ncpus);
	c->cpu_numa = COLUMN(uint8_t, c->ncpus);
	c->numa_mem = COLUMN(int64_t, c->nnumas);
}

/* Write the columns of a node's CPUs. The loops use local pointers, so that the
 * compiler can vectorize them. */
static void put_cpus(const struct node *node, const struct columns *c, size_t i)
{
	uint16_t *restrict nfree = c->thread_free + c->cpu_first[i];
	uint16_t *restrict core = c->core + c->cpu_first[i];
	uint8_t *restrict numa = c->cpu_numa + c->cpu_first[i];
	const bool *reserved = node->cpu_reserved;
	uint32_t n = node->ncpus;

	for (uint32_t t = 0; t < n; t++)
		nfree[t] = reserved[t] ? 0 : 1000;
	for (uint32_t t = 0; t < n; t++)
		numa[t] = node->cpu_numa[t] % LIMIT_SOCKETS;
	if (n)
		memcpy(core, node->cpu_core, n * sizeof(*core));
}

static void put_devices(struct build *b, struct columns *c, size_t i)
{
	const struct node *node = &b->state->nodes.node[i];
	uint32_t type = snapshot_word_or_none(b, node->gpu_type);
	uint32_t gpu = c->gpu_first[i];

	for (uint32_t g = 0; g < node->ngpus; g++) {
		c->gpu_free[gpu + g] = 1000;
		c->gpu_type[gpu + g] = type;
		c->gpu_numa[gpu + g] = node_gpu_numa(node, g);
		c->gpu_link[gpu + g] = node_gpu_link(node, g);
	}
	put_cpus(node, c, i);
	for (uint32_t m = 0; m < node->nnumas; m++)
		c->numa_mem[c->numa_first[i] + m] = node->numa_mem[m];
}

static void hand_over(struct snap *snap, const struct columns *c, size_t n,
                      const uint32_t *domain)
{
	snap->gpu = (struct snap_gpus){ c->ngpus, c->gpu_free, c->gpu_type,
		                        c->gpu_numa, c->gpu_link };
	snap->cpu = (struct snap_cpus){ c->ncpus, c->thread_free, c->core,
		                        c->cpu_numa };
	snap->numa_mem = c->numa_mem;
	snap->node = (struct snap_nodes){
		.n = (uint32_t)n,
		.name = c->name,
		.pool = c->pool,
		.state = c->status,
		.cpu_total = c->cpu_total,
		.cpu_free = c->cpu_free,
		.mem_total = c->mem_total,
		.mem_free = c->mem_free,
		.tmp_total = c->tmp_total,
		.tmp_free = c->tmp_free,
		.slot_total = c->slots,
		.slot_free = c->slots_free,
		.gpu_first = c->gpu_first,
		.cpu_first = c->cpu_first,
		.numa_first = c->numa_first,
		.feature_first = c->feature_first,
		.taint_first = c->taint_first,
		.domain = domain,
		.mig = c->mig,
		.retry_at = c->retry,
		.coming = c->coming,
		.weight = c->weight,
	};
}

void snapshot_nodes(struct build *b)
{
	const struct state *state = b->state;
	size_t n = state->nodes.n;
	struct columns c = node_columns(b, n);

	for (size_t i = 0; i < n; i++)
		put_node(b, &c, i);
	c.gpu_first[n] = c.ngpus;
	c.cpu_first[n] = c.ncpus;
	c.numa_first[n] = c.nnumas;
	c.feature_first[n] = (uint32_t)b->features.n;
	c.taint_first[n] = (uint32_t)b->taints.n;
	device_columns(b, &c);
	for (size_t i = 0; i < n; i++)
		put_devices(b, &c, i);
	for (struct job *job = b->placed; job; job = job->row_next) {
		take_off(b, job, job->place, &c);
		if (job->leaving)
			take_off(b, job, job->leaving, &c);
	}
	for (size_t i = 0; i < n; i++)
		take_for_others(&state->nodes.node[i],
		                c.gpu_free + c.gpu_first[i]);
	hand_over(b->snap, &c, n, places_build(state, b->snap, b->arena));
}

/* --- reservations ------------------------------------------------------ */

/* Add the users named in a list to the guests. Users whom the state does not
 * know, because they have no jobs, are left out. */
static void push_guests(struct build *b, const struct map *index,
                        const char *names)
{
	size_t len;

	for (const char *s = names; *s; s += len + (s[len] == ',')) {
		uintptr_t known;

		len = strcspn(s, ",");
		known = (uintptr_t)map_find(index, hash_bytes(3, s, len));
		if (known)
			*(uint32_t *)snapshot_push(b, &b->guests,
			                           sizeof(uint32_t)) =
			    (uint32_t)known - 1;
	}
}

static void index_users(const struct state *state, struct map *ret)
{
	for (size_t i = 0; state->reservations.n && i < state->users.n; i++) {
		const char *name = state->users.user[i].name;

		map_set(ret, hash_bytes(3, name, strlen(name)),
		        (void *)(uintptr_t)(i + 1));
	}
}

void snapshot_reservations(struct build *b)
{
	const struct state *state = b->state;
	size_t n = state->reservations.n, nodes = 0, at = 0;
	const char **name = COLUMN(const char *, n);
	int64_t *start = COLUMN(int64_t, n), *end = COLUMN(int64_t, n);
	uint32_t *first = COLUMN(uint32_t, n), *user = COLUMN(uint32_t, n);
	uint32_t *node;
	struct map users = { 0 };

	for (size_t i = 0; i < n; i++)
		nodes += state->reservations.resv[i].nnodes;
	node = COLUMN(uint32_t, nodes);
	index_users(state, &users);
	for (size_t i = 0; i < n; i++) {
		const struct reservation *r = &state->reservations.resv[i];

		name[i] = arena_strdup(b->arena, r->name);
		start[i] = r->start;
		end[i] = r->end;
		first[i] = (uint32_t)at;
		memcpy(node + at, r->node, r->nnodes * sizeof(*node));
		at += r->nnodes;
		user[i] = (uint32_t)b->guests.n;
		push_guests(b, &users, r->users);
		push_guests(b, &users, r->guests);
	}
	first[n] = (uint32_t)at;
	user[n] = (uint32_t)b->guests.n;
	map_free(&users);
	b->snap->resv = (struct snap_reservations){ (uint32_t)n, name,  start,
		                                    end,         first, user };
	b->snap->resv_node = node;
	b->snap->resv_user = b->guests.n ? b->guests.p : COLUMN(uint32_t, 0);
}

void snap_keep_reservations(struct snap *to, const struct snap *from,
                            struct arena *arena)
{
	const struct snap_reservations *r = &from->resv;
	const char **name = arena_array(arena, const char *, r->n + 1);
	int64_t *start = arena_array(arena, int64_t, r->n + 1);
	int64_t *end = arena_array(arena, int64_t, r->n + 1);
	uint32_t *first = arena_array(arena, uint32_t, r->n + 1);

	for (uint32_t i = 0; i < r->n; i++) {
		name[i] = arena_strdup(arena, r->name[i]);
		start[i] = r->start[i];
		end[i] = r->end[i];
	}
	to->resv =
	    (struct snap_reservations){ r->n, name, start, end, first, first };
}
