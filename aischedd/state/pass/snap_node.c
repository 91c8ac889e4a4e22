/* snap_node.c - copy nodes and reservations into a snapshot */
#include "aischedd/state/pass/snap_node.h"

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/scale.h"
#include "aischedd/state/pass/placed.h"
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

/*
 * Columns of nodes that depend neither on the time nor on jobs. All snapshots
 * share them until a node is reported or configured anew. In `snap`, only the
 * members about nodes and topology are set. Its free amounts are those that
 * would be free if no job ran; GPUs that other processes use count as free.
 */
struct node_frame {
	struct arena *arena;
	struct snap snap;
	uint64_t *word_key; /* by word: its key in a struct build's word_of */
	bool others; /* other processes than jobs use GPUs on some node */
};

/* The columns of nodes, GPUs, CPUs and NUMA nodes while a frame is written. */
struct columns {
	const char **name;
	uint32_t *pool, *gpu_first, *cpu_first, *feature_first, *taint_first;
	uint8_t *mig;
	int64_t *cpu_total, *cpu_free, *mem_total, *mem_free, *tmp_total,
	    *tmp_free, *slots, *slots_free, *weight;

	uint16_t *gpu_free;
	uint32_t *gpu_type;
	uint8_t *gpu_numa, *gpu_link;
	uint16_t *thread_free, *core;
	uint8_t *cpu_numa;
	uint32_t *numa_first;
	int64_t *numa_mem;
	uint32_t ngpus, ncpus, nnumas;
};

/* The columns that each snapshot has of its own: copies from the frame, from
 * which what jobs hold is subtracted. */
struct left {
	const uint32_t *gpu_first, *cpu_first;
	int64_t *cpu, *mem, *tmp, *slots;
	uint16_t *gpu, *thread;
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
static void take_off(const struct placed_run *h, const struct placement *p,
                     const struct left *c)
{
	const struct row_key *req = (const void *)h->key->text;

	for (uint32_t i = 0; i < p->ntasks; i++) {
		const struct snap_task *t = &p->task[i];
		uint16_t *gpu = c->gpu + c->gpu_first[t->node];
		uint16_t *thread = c->thread + c->cpu_first[t->node];
		uint32_t ngpus =
		    c->gpu_first[t->node + 1] - c->gpu_first[t->node];
		uint32_t ncpus =
		    c->cpu_first[t->node + 1] - c->cpu_first[t->node];

		c->mem[t->node] -= req->mem;
		c->tmp[t->node] -= req->tmp;
		c->slots[t->node]--;
		for (uint32_t g = 0; g < ngpus && t->gpus >> g; g++)
			if (t->gpus >> g & 1)
				gpu[g] -= t->gpu_milli;
		if (h->suspended)
			continue;
		c->cpu[t->node] -= req->cpus;
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

/* Copy a column of n elements into the snapshot, with room for one more. */
static void *copy(struct build *b, const void *from, size_t n, size_t size)
{
	void *to = arena_alloc_raw(b->arena, n + 1, size);

	return n ? memcpy(to, from, n * size) : to;
}

static struct columns node_columns(struct build *b, size_t n)
{
	struct columns c = { 0 };

	c.name = COLUMN(const char *, n);
	c.pool = COLUMN(uint32_t, n);
	c.mig = COLUMN(uint8_t, n);
	c.cpu_total = COLUMN(int64_t, n);
	c.cpu_free = COLUMN(int64_t, n);
	c.mem_total = COLUMN(int64_t, n);
	c.mem_free = COLUMN(int64_t, n);
	c.tmp_total = COLUMN(int64_t, n);
	c.tmp_free = COLUMN(int64_t, n);
	c.slots = COLUMN(int64_t, n);
	c.slots_free = COLUMN(int64_t, n);
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
	c->mig[i] = node_mig(node);
	c->cpu_total[i] = node->cpu_milli;
	c->mem_total[i] = node->mem_mib;
	c->cpu_free[i] = node->cpu_milli - node->cpu_others;
	c->mem_free[i] = node->mem_mib - node->mem_others;
	c->tmp_total[i] = node->tmp_mib;
	c->tmp_free[i] = node->tmp_mib - node->tmp_others;
	c->slots[i] = node->slots ? node->slots : SLOTS_ANY;
	c->slots_free[i] = c->slots[i] - node->slots_others;
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
		.weight = c->weight,
	};
}

static void frame_words(struct node_frame *frame, struct build *b)
{
	struct snap *snap = &frame->snap;

	snap->nwords = (uint32_t)b->words.n;
	snap->word = b->words.p;
	snap->feature = b->features.p;
	snap->taint = b->taints.p;
	frame->word_key = COLUMN(uint64_t, snap->nwords);
	for (uint32_t i = 0; i < snap->nwords; i++)
		frame->word_key[i] =
		    snapshot_word_key(snap->word[i], strlen(snap->word[i]));
	map_free(&b->word_of);
}

static struct node_frame *frame_new(const struct state *state)
{
	struct arena *arena = arena_new();
	struct node_frame *frame = arena_array(arena, struct node_frame, 1);
	struct build of = { .state = state,
		            .arena = arena,
		            .snap = &frame->snap },
		     *b = &of;
	size_t n = state->nodes.n;
	struct columns c = node_columns(b, n);

	frame->arena = arena;
	for (size_t i = 0; i < n; i++)
		put_node(b, &c, i);
	c.gpu_first[n] = c.ngpus;
	c.cpu_first[n] = c.ncpus;
	c.numa_first[n] = c.nnumas;
	c.feature_first[n] = (uint32_t)b->features.n;
	c.taint_first[n] = (uint32_t)b->taints.n;
	device_columns(b, &c);
	for (size_t i = 0; i < n; i++) {
		put_devices(b, &c, i);
		frame->others |= state->nodes.node[i].gpus_others ||
		                 state->nodes.node[i].gpus_held;
	}
	hand_over(b->snap, &c, n, places_build(state, b->snap, arena));
	frame_words(frame, b);
	return frame;
}

void node_frame_drop(struct node_table *nodes)
{
	if (nodes->frame)
		arena_free(nodes->frame->arena);
	nodes->frame = NULL;
}

/* Copy everything from the frame that is not shared with it. */
static struct left borrow(struct build *b, const struct node_frame *frame)
{
	const struct snap *from = &frame->snap;
	const struct snap_nodes *node = &from->node;
	size_t n = node->n;

	arena_keep(b->arena, frame->arena);
	b->snap->node = from->node;
	b->snap->gpu = from->gpu;
	b->snap->cpu = from->cpu;
	b->snap->numa_mem = from->numa_mem;
	b->snap->nlevels = from->nlevels;
	b->snap->level = from->level;
	b->snap->domain = from->domain;
	b->snap->feature = from->feature;
	b->snap->taint = from->taint;
	b->words = (struct arena_list){
		.p = copy(b, from->word, from->nwords, sizeof(char *)),
		.n = from->nwords,
		.cap = from->nwords,
	};
	map_reserve(&b->word_of, from->nwords);
	for (uint32_t i = 0; i < from->nwords; i++)
		map_set(&b->word_of, frame->word_key[i],
		        (void *)((uintptr_t)i + 1));
	return (struct left){
		.gpu_first = node->gpu_first,
		.cpu_first = node->cpu_first,
		.cpu = copy(b, node->cpu_free, n, sizeof(int64_t)),
		.mem = copy(b, node->mem_free, n, sizeof(int64_t)),
		.tmp = copy(b, node->tmp_free, n, sizeof(int64_t)),
		.slots = copy(b, node->slot_free, n, sizeof(int64_t)),
		.gpu = copy(b, from->gpu.free, from->gpu.n, sizeof(uint16_t)),
		.thread =
		    copy(b, from->cpu.free, from->cpu.n, sizeof(uint16_t)),
	};
}

/* Write the columns that depend on the present time or that operators and
 * failures change. */
static void put_status(struct build *b)
{
	size_t n = b->snap->node.n;
	uint8_t *status = COLUMN(uint8_t, n), *coming = COLUMN(uint8_t, n);
	int64_t *retry = COLUMN(int64_t, n);

	for (size_t i = 0; i < n; i++) {
		const struct node *node = &b->state->nodes.node[i];

		status[i] = node_status(node);
		coming[i] = (uint8_t)scale_coming(node);
		retry[i] = coming[i] == NODE_HERE
		               ? node->retry_at
		               : scale_ready_at(b->state, node, b->snap->now);
	}
	b->snap->node.state = status;
	b->snap->node.coming = coming;
	b->snap->node.retry_at = retry;
}

/* Prefetch the placement and the key of a job some steps before they
 * are read. */
static void fetch_ahead(const struct build *b, size_t i)
{
	enum { AHEAD = 8 };

	if (i + AHEAD >= b->nheld)
		return;
	__builtin_prefetch(b->held[i + AHEAD].place);
	__builtin_prefetch(b->held[i + AHEAD].key);
}

void snapshot_nodes(struct state *state, struct build *b)
{
	struct node_frame *frame = state->nodes.frame;
	struct left left;

	if (!frame)
		frame = state->nodes.frame = frame_new(state);
	left = borrow(b, frame);
	put_status(b);
	for (size_t i = 0; i < b->nheld; i++) {
		const struct placed_run *h = &b->held[i];

		fetch_ahead(b, i);
		if (!h->job)
			continue;
		take_off(h, h->place, &left);
		if (h->leaving)
			take_off(h, h->leaving, &left);
	}
	for (size_t i = 0; frame->others && i < state->nodes.n; i++)
		take_for_others(&state->nodes.node[i],
		                left.gpu + left.gpu_first[i]);
	b->snap->node.cpu_free = left.cpu;
	b->snap->node.mem_free = left.mem;
	b->snap->node.tmp_free = left.tmp;
	b->snap->node.slot_free = left.slots;
	b->snap->gpu.free = left.gpu;
	b->snap->cpu.free = left.thread;
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
