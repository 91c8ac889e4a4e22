/* snap_node.c - copy nodes and reservations into a snapshot */
#include "aischedd/state/pass/snap_node.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/device.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/scale.h"
#include "aischedd/state/pass/kubelet.h"
#include "aischedd/state/pass/placed.h"
#include "aischedd/state/pass/places.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/snap_build.h"
#include "aischedd/state/pass/snapshot.h"
#include "libcommon/mem.h"

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

/* The free amounts of each node, GPU and CPU. */
struct left {
	int64_t *cpu, *mem, *tmp, *slots;
	struct device_counts *dev;
	uint16_t *gpu, *thread;
};

/*
 * Columns of nodes that depend neither on the time nor on jobs or other users
 * of the nodes. All snapshots share them until node_frame_key() of a node
 * changes. In `snap`, only the members about nodes and topology are set. Its
 * free amounts are those that would be free if nobody used the nodes.
 */
struct node_frame {
	struct arena *arena;
	struct snap snap;
	uint64_t *word_key; /* by word: its key in a struct build's word_of */
	/* by GPU: the slices of its partitions that jobs use; NULL: no GPU has
	 * partitions for good */
	uint8_t *slices;
	/* the free amounts less what each struct node_hold has; used: by CPU
	 * of `thread`, all that jobs use of it */
	struct left left;
	uint32_t *used;
};

/* A copy of what the tasks of a job hold, to add it again when the job
 * has changed. */
struct node_hold {
	int64_t cpus, mem, tmp; /* of each task */
	struct device_counts devs;
	uint32_t ntasks;
	struct snap_task *task; /* ntasks and one more */
	struct snap_cpu_use *use;
};

/* The columns of nodes, GPUs, CPUs and NUMA nodes while a frame is written. */
struct columns {
	const char **name;
	uint32_t *pool, *gpu_first, *cpu_first, *feature_first, *taint_first;
	uint8_t *mig;
	int64_t *gpu_mem;
	uint8_t *chooses;
	int64_t *cpu_total, *cpu_free, *mem_total, *mem_free, *tmp_total,
	    *tmp_free, *slots, *slots_free, *weight;
	struct device_counts *dev_total, *dev_free;

	uint16_t *gpu_free;
	uint32_t *gpu_type;
	uint8_t *gpu_numa, *gpu_link;
	uint64_t *gpu_parts; /* NULL: no GPU has partitions for good */
	bool has_parts;
	uint16_t *thread_free, *core;
	uint8_t *cpu_numa;
	uint32_t *numa_first;
	int64_t *numa_mem;
	uint32_t ngpus, ncpus, nnumas;
	/* particular devices other than GPUs; NULL if no node has any */
	uint32_t *piece_first;
	uint8_t *piece_kind, *piece_numa;
	uint16_t *piece_root, *gpu_root;
	uint32_t npieces;
};

/* Add to what jobs use of a CPU. Keep the free amount at 0 or above: a
 * suspended job that is now ending may share its CPUs with a job that was
 * started there in the meantime. */
static void use_thread(struct node_frame *frame, uint32_t cpu, int milli)
{
	uint16_t all = frame->snap.cpu.free[cpu];
	uint32_t used = frame->used[cpu] += (uint32_t)milli;

	frame->left.thread[cpu] = used < all ? (uint16_t)(all - used) : 0;
}

static void take_gpu(struct node_frame *frame, uint32_t gpu,
                     const struct snap_task *t, int sign)
{
	frame->left.gpu[gpu] -= (uint16_t)(sign * t->gpu_milli);
	if (!frame->slices)
		return;
	if (sign > 0)
		frame->slices[gpu] |= t->units;
	else
		frame->slices[gpu] &= (uint8_t)~t->units;
}

/* Subtract the devices of a task from what is free (sign 1), or add them again
 * (sign -1). */
static void take_devs(struct device_counts *left,
                      const struct device_counts *devs, int sign)
{
	for (int i = 0; i < DEVICE_KINDS; i++)
		left->n[i] -= (int16_t)(sign * devs->n[i]);
}

/* Subtract what the tasks hold from what is free (sign 1), or add it again
 * (sign -1). */
static void take_off(struct node_frame *frame, const struct node_hold *h,
                     int sign)
{
	const struct snap_nodes *node = &frame->snap.node;
	const struct left *left = &frame->left;

	for (uint32_t i = 0; i < h->ntasks; i++) {
		const struct snap_task *t = &h->task[i];
		const uint32_t *first = node->gpu_first + t->node;
		const uint32_t *cpu = node->cpu_first + t->node;

		left->cpu[t->node] -= sign * h->cpus;
		left->mem[t->node] -= sign * h->mem;
		left->tmp[t->node] -= sign * h->tmp;
		left->slots[t->node] -= sign;
		take_devs(&left->dev[t->node], &h->devs, sign);
		for (uint32_t g = first[0]; g < first[1]; g++)
			if (t->gpus >> (g - first[0]) & 1)
				take_gpu(frame, g, t, sign);
		for (uint32_t u = t->cpu_first; u < t[1].cpu_first; u++)
			if (h->use[u].cpu < cpu[1] - cpu[0])
				use_thread(frame, cpu[0] + h->use[u].cpu,
				           sign * h->use[u].milli);
	}
}

/* Append a copy of tasks to a hold, which has the memory; suspended: without
 * their CPUs. */
static void hold_tasks(struct node_hold *h, const struct placement *p,
                       bool suspended)
{
	for (uint32_t i = 0; i < p->ntasks; i++) {
		const struct snap_task *t = &p->task[i];
		struct snap_task *to = &h->task[h->ntasks++];
		uint32_t n = suspended ? 0 : t[1].cpu_first - t->cpu_first;
		uint32_t first = to->cpu_first;

		*to = *t;
		to->cpu_first = first;
		to[1].cpu_first = first + n;
		if (n)
			memcpy(h->use + first, p->cpu_use + t->cpu_first,
			       n * sizeof(*h->use));
	}
}

static struct node_hold *hold_new(const struct placed_run *run)
{
	const struct row_key *req = (const void *)run->key->text;
	const struct placement *p = run->place, *l = run->leaving;
	size_t n = (size_t)run->ntasks + 1;
	struct node_hold *h = xmalloc(sizeof(*h) + n * sizeof(*h->task) +
	                              run->nuse * sizeof(*h->use));

	*h = (struct node_hold){ .cpus = run->suspended ? 0 : req->cpus,
		                 .mem = req->mem,
		                 .tmp = req->tmp,
		                 .devs = req->devs,
		                 .task = (void *)(h + 1) };
	h->use = (void *)(h->task + n);
	h->task[0].cpu_first = 0;
	hold_tasks(h, p, run->suspended);
	if (l)
		hold_tasks(h, l, run->suspended);
	return h;
}

void node_frame_take(struct node_table *nodes, struct placed_run *run)
{
	run->hold = hold_new(run);
	if (nodes->frame)
		take_off(nodes->frame, run->hold, 1);
}

void node_frame_give(struct node_table *nodes, struct placed_run *run)
{
	if (run->hold && nodes->frame)
		take_off(nodes->frame, run->hold, -1);
	free(run->hold);
	run->hold = NULL;
}

static void take_milli(uint16_t *nfree, int64_t milli)
{
	*nfree -= *nfree < milli ? *nfree : (uint16_t)milli;
}

/* Mark as used the GPUs that processes outside of aisched use. If only their
 * number is known, mark that many of the last free ones. */
static void take_for_others(const struct node *node, uint16_t *gpu_free)
{
	int64_t left = node->gpus_named ? 0 : node->gpu_others / 1000;

	for (uint32_t g = 0; node->gpu_held && g < node->ngpus; g++)
		take_milli(&gpu_free[g], node->gpu_held[g]);
	for (uint32_t g = node->ngpus; g-- && left;)
		if (gpu_free[g] == 1000 && !node_gpu_parts(node, g)) {
			gpu_free[g] = 0;
			left--;
		}
}

/* Take off the partitions, and the units, that others hold, if the runner knows
 * which. */
static void take_parts(const struct node *node, uint16_t *gpu_free)
{
	uint8_t model = node_mig(node);

	for (uint32_t g = 0; g < node->ngpus; g++)
		take_milli(&gpu_free[g],
		           1000 -
		               mig_parts_free(node_gpu_parts(node, g), model));
}

/* Mark n partitions of this profile as held, of those that no job uses: on the
 * last GPUs first, as it is not known which ones others have. */
static void hold_parts(const struct node *node, uint8_t profile, uint32_t n,
                       const uint8_t *slices, uint64_t *parts,
                       uint16_t *gpu_free)
{
	for (uint32_t i = node->ngpus * MIG_UNITS; i-- && n;) {
		uint32_t g = i / MIG_UNITS, unit = i % MIG_UNITS;

		if (mig_parts_at(parts[g], unit) != profile ||
		    slices[g] >> unit & 1)
			continue;
		parts[g] |= (uint64_t)MIG_HELD << 8 * unit;
		gpu_free[g] -= (uint16_t)mig_milli(profile);
		n--;
	}
}

/* Mark the partitions that pods or processes outside of aisched use, in a copy
 * of the column of partitions. */
static void hold_for_others(struct build *b, const struct node_frame *frame,
                            uint16_t *gpu_free)
{
	const struct node_table *t = &b->state->nodes;
	const uint8_t *slices = frame->slices;
	uint64_t *parts = COLUMN(uint64_t, b->snap->gpu.n);

	if (b->only)
		slices = arena_array(b->arena, uint8_t, b->snap->gpu.n);
	memcpy(parts, b->snap->gpu.parts, b->snap->gpu.n * sizeof(*parts));
	for (size_t i = 0; i < t->n; i++) {
		const struct node *node = &t->node[i];
		uint32_t first = b->snap->node.gpu_first[i];

		for (uint8_t p = 1; node->parts_others && p < mig_nprofiles();
		     p++)
			hold_parts(node, p, node->parts_others[p],
			           slices + first, parts + first,
			           gpu_free + first);
	}
	b->snap->gpu.parts = parts;
}

/* Copy a column of n elements, with room for one more. */
static void *copy(struct arena *arena, const void *from, size_t n, size_t size)
{
	void *to = arena_alloc_raw(arena, n + 1, size);

	return n ? memcpy(to, from, n * size) : to;
}

static struct columns node_columns(struct build *b, size_t n)
{
	struct columns c = { 0 };

	c.name = COLUMN(const char *, n);
	c.pool = COLUMN(uint32_t, n);
	c.mig = COLUMN(uint8_t, n);
	c.gpu_mem = COLUMN(int64_t, n);
	c.chooses = COLUMN(uint8_t, n);
	c.cpu_total = COLUMN(int64_t, n);
	c.cpu_free = COLUMN(int64_t, n);
	c.mem_total = COLUMN(int64_t, n);
	c.mem_free = COLUMN(int64_t, n);
	c.tmp_total = COLUMN(int64_t, n);
	c.tmp_free = COLUMN(int64_t, n);
	c.slots = COLUMN(int64_t, n);
	c.slots_free = COLUMN(int64_t, n);
	c.dev_total = COLUMN(struct device_counts, n);
	c.dev_free = COLUMN(struct device_counts, n);
	c.weight = COLUMN(int64_t, n);
	c.gpu_first = COLUMN(uint32_t, n);
	c.cpu_first = COLUMN(uint32_t, n);
	c.numa_first = COLUMN(uint32_t, n);
	c.feature_first = COLUMN(uint32_t, n);
	c.taint_first = COLUMN(uint32_t, n);
	return c;
}

/* Returns the name of the node in snapshots. That of a forgotten node, which
 * another may have by now, is one that no node has. */
static const char *name_of(struct build *b, size_t i)
{
	char none[24];

	snprintf(none, sizeof(none), "_%zu", i);
	return arena_strdup(b->arena,
	                    b->state->nodes.node[i].forgotten
	                        ? none
	                        : state_node_label(b->state, (uint32_t)i));
}

static void put_node(struct build *b, struct columns *c, size_t i)
{
	const struct node *node = &b->state->nodes.node[i];

	c->name[i] = name_of(b, i);
	c->pool[i] = node->pool;
	c->mig[i] = node_mig(node);
	c->gpu_mem[i] = node_gpu_mem(node);
	c->chooses[i] = node->zone_gpus != NULL;
	c->cpu_total[i] = node->cpu_milli;
	c->mem_total[i] = node->mem_mib;
	c->cpu_free[i] = node->cpu_milli;
	c->mem_free[i] = node->mem_mib;
	c->tmp_total[i] = c->tmp_free[i] = node->tmp_mib;
	c->slots[i] = c->slots_free[i] = node->slots ? node->slots : SLOTS_ANY;
	c->dev_total[i] = c->dev_free[i] = node->devs;
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
	push_words(b, &b->features, scale_words(b->state, node));
	push_words(b, &b->features, &node->features);
	push_words(b, &b->taints, &node->taints);
	for (uint32_t g = 0; g < node->ngpus; g++)
		c->has_parts |= node_gpu_parts(node, g) != 0;
	c->npieces += node->named ? node->named->nhere : 0;
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
	c->gpu_parts = c->has_parts ? COLUMN(uint64_t, c->ngpus) : NULL;
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

/* Write the columns of particular devices. They cost nothing if no node has
 * any. */
static void put_pieces(struct build *b, struct columns *c, size_t n)
{
	uint32_t at = 0;

	if (!c->npieces)
		return;
	c->piece_first = COLUMN(uint32_t, n);
	c->piece_kind = COLUMN(uint8_t, c->npieces);
	c->piece_numa = COLUMN(uint8_t, c->npieces);
	c->piece_root = COLUMN(uint16_t, c->npieces);
	c->gpu_root = COLUMN(uint16_t, c->ngpus);
	for (size_t i = 0; i < n; i++) {
		const struct node *node = &b->state->nodes.node[i];
		const struct node_devices *d = node->named;
		uint8_t most =
		    node->nnumas ? (uint8_t)node->nnumas : SNAP_NUMAS;

		c->piece_first[i] = at;
		for (uint32_t k = 0; d && k < d->nhere; k++, at++) {
			c->piece_kind[at] = d->kind[k];
			c->piece_numa[at] =
			    d->numa[k] < most ? d->numa[k] : PIECE_NOWHERE;
			c->piece_root[at] = d->root[k];
		}
		for (uint32_t g = 0; g < node->ngpus; g++)
			c->gpu_root[c->gpu_first[i] + g] = node->gpu_root[g];
	}
	c->piece_first[n] = at;
}

static void put_devices(struct build *b, struct columns *c, size_t i)
{
	const struct node *node = &b->state->nodes.node[i];
	uint32_t type = snapshot_word_or_none(b, node->gpu_type);
	uint32_t gpu = c->gpu_first[i];

	for (uint32_t g = 0; g < node->ngpus; g++) {
		uint64_t parts = node_gpu_parts(node, g);

		c->gpu_free[gpu + g] = 1000;
		c->gpu_type[gpu + g] = type;
		c->gpu_numa[gpu + g] = node_gpu_numa(node, g);
		c->gpu_link[gpu + g] = node_gpu_link(node, g);
		if (c->has_parts)
			c->gpu_parts[gpu + g] = parts;
	}
	put_cpus(node, c, i);
	for (uint32_t m = 0; m < node->nnumas; m++)
		c->numa_mem[c->numa_first[i] + m] = node->numa_mem[m];
}

static void hand_over(struct snap *snap, const struct columns *c, size_t n,
                      const uint32_t *domain)
{
	snap->gpu = (struct snap_gpus){ c->ngpus,    c->gpu_free, c->gpu_type,
		                        c->gpu_numa, c->gpu_link, c->gpu_parts,
		                        c->gpu_root };
	snap->piece = (struct snap_pieces){ c->npieces, c->piece_kind,
		                            c->piece_numa, c->piece_root };
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
		.dev_total = c->dev_total,
		.dev_free = c->dev_free,
		.gpu_first = c->gpu_first,
		.cpu_first = c->cpu_first,
		.numa_first = c->numa_first,
		.piece_first = c->piece_first,
		.feature_first = c->feature_first,
		.taint_first = c->taint_first,
		.domain = domain,
		.mig = c->mig,
		.gpu_mem = c->gpu_mem,
		.chooses = c->chooses,
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

/* Copy what is free: from `left`, or from the snapshot if that is NULL. */
static struct left left_copy(struct arena *arena, const struct snap *s,
                             const struct left *left)
{
	size_t n = s->node.n, amount = sizeof(int64_t), part = sizeof(uint16_t);
	const struct left *l = left;

	return (struct left){
		copy(arena, l ? l->cpu : s->node.cpu_free, n, amount),
		copy(arena, l ? l->mem : s->node.mem_free, n, amount),
		copy(arena, l ? l->tmp : s->node.tmp_free, n, amount),
		copy(arena, l ? l->slots : s->node.slot_free, n, amount),
		copy(arena, l ? l->dev : s->node.dev_free, n,
		     sizeof(struct device_counts)),
		copy(arena, l ? l->gpu : s->gpu.free, s->gpu.n, part),
		copy(arena, l ? l->thread : s->cpu.free, s->cpu.n, part),
	};
}

/* Give the GPUs and CPUs of a node the NUMA nodes that its kubelet shows. */
static void place_zones(struct node *node, size_t i,
                        const struct node_frame *frame, const struct columns *c)
{
	if (node->conf &&
	    (node->conf->sockets != CONF_NONE || node->conf->gpu_numa.n))
		return;
	kubelet_place(node, frame->left.gpu + c->gpu_first[i],
	              frame->left.thread + c->cpu_first[i]);
	for (uint32_t g = 0; g < node->ngpus; g++)
		c->gpu_numa[c->gpu_first[i] + g] = node_gpu_numa(node, g);
	for (uint32_t t = 0; t < node->ncpus; t++)
		c->cpu_numa[c->cpu_first[i] + t] = node->cpu_numa[t];
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
	for (size_t i = 0; i < n; i++)
		put_devices(b, &c, i);
	put_pieces(b, &c, n);
	hand_over(b->snap, &c, n, places_build(state, b->snap, arena));
	frame_words(frame, b);
	frame->left = left_copy(arena, &frame->snap, NULL);
	frame->used = arena_array(arena, uint32_t, frame->snap.cpu.n + 1);
	if (c.has_parts)
		frame->slices = arena_array(arena, uint8_t, c.ngpus);
	for (size_t i = 0; i < state->placed.n; i++)
		if (state->placed.run[i].hold)
			take_off(frame, state->placed.run[i].hold, 1);
	for (size_t i = 0; i < n; i++)
		if (state->nodes.node[i].zone_gpus)
			place_zones(&state->nodes.node[i], i, frame, &c);
	return frame;
}

/* --- whether columns change ---------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return text ? hash_bytes(hash, text, strlen(text) + 1)
	            : hash_bytes(hash, NULL, 0);
}

static uint64_t hash_words(uint64_t hash, const struct strlist *list)
{
	hash = hash_bytes(hash, &list->n, sizeof(list->n));
	for (size_t i = 0; i < list->n; i++)
		hash = hash_text(hash, list->s[i]);
	return hash;
}

static uint64_t hash_cpus(uint64_t hash, const struct node *node)
{
	size_t n = node->ncpus;

	if (!n)
		return hash;
	hash = hash_bytes(hash, node->cpu_core, n * sizeof(*node->cpu_core));
	hash = hash_bytes(hash, node->cpu_numa, n);
	return hash_bytes(hash, node->cpu_reserved, n * sizeof(bool));
}

static uint64_t hash_devices(uint64_t hash, const struct node *node)
{
	const struct node_devices *d = node->named;
	size_t n = d ? d->nhere : 0;

	hash = hash_bytes(hash, &node->devs, sizeof(node->devs));
	hash = hash_bytes(hash, &n, sizeof(n));
	for (uint32_t g = 0; g < node->ngpus; g++) {
		const uint64_t gpu[] = { node_gpu_parts(node, g),
			                 node_gpu_numa(node, g),
			                 node_gpu_link(node, g),
			                 node->gpu_root[g] };

		hash = hash_bytes(hash, gpu, sizeof(gpu));
	}
	if (!n)
		return hash;
	hash = hash_bytes(hash, d->kind, n);
	hash = hash_bytes(hash, d->numa, n);
	return hash_bytes(hash, d->root, n * sizeof(*d->root));
}

uint64_t node_frame_key(const struct node *node)
{
	const int64_t has[] = {
		node->pool,     node->gone,         node->coming,
		node->scale,    node->member,       node->cpu_milli,
		node->mem_mib,  node->tmp_mib,      node->slots,
		node->ncpus,    node->ngpus,        node->nnumas,
		node_mig(node), node_gpu_mem(node), node_weight(node),
	};
	uint64_t hash = hash_bytes(0, has, sizeof(has));

	hash = hash_text(hash, node->gpu_type);
	hash = hash_text(hash, node->topology);
	hash = hash_words(hash, &node->features);
	hash = hash_words(hash, &node->taints);
	hash = hash_cpus(hash, node);
	if (node->nnumas)
		hash = hash_bytes(hash, node->numa_mem,
		                  node->nnumas * sizeof(*node->numa_mem));
	return hash_devices(hash, node);
}

void node_frame_drop(struct node_table *nodes)
{
	if (nodes->frame)
		arena_free(nodes->frame->arena);
	nodes->frame = NULL;
}

/* Copy everything from the frame that is not shared with it. */
static void borrow(struct build *b, const struct node_frame *frame)
{
	const struct snap *from = &frame->snap;

	arena_keep(b->arena, frame->arena);
	b->snap->node = from->node;
	b->snap->gpu = from->gpu;
	b->snap->piece = from->piece;
	b->snap->cpu = from->cpu;
	b->snap->numa_mem = from->numa_mem;
	b->snap->nlevels = from->nlevels;
	b->snap->level = from->level;
	b->snap->domain = from->domain;
	b->snap->feature = from->feature;
	b->snap->taint = from->taint;
	b->words = (struct arena_list){
		.p = copy(b->arena, from->word, from->nwords, sizeof(char *)),
		.n = from->nwords,
		.cap = from->nwords,
	};
	map_reserve(&b->word_of, from->nwords);
	for (uint32_t i = 0; i < from->nwords; i++)
		map_set(&b->word_of, frame->word_key[i],
		        (void *)((uintptr_t)i + 1));
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

/* Subtract from what is free on node i what others than jobs use there. */
static void take_others(const struct build *b, const struct left *left,
                        size_t i)
{
	const struct node *node = &b->state->nodes.node[i];

	left->cpu[i] -= node->cpu_others;
	left->mem[i] -= node->mem_others;
	left->tmp[i] -= node->tmp_others;
	left->slots[i] -= node->slots_others;
	take_devs(&left->dev[i], &node->devs_others, 1);
	if (node->gpu_others)
		take_for_others(node, left->gpu + b->snap->node.gpu_first[i]);
}

void snapshot_nodes(struct state *state, struct build *b)
{
	struct node_table *nodes = &state->nodes;

	if (!nodes->frame) {
		nodes->frame = frame_new(state);
		nodes->frames++;
	}
	borrow(b, nodes->frame);
	put_status(b);
}

void snapshot_left(const struct state *state, struct build *b)
{
	const struct node_frame *frame = state->nodes.frame;
	struct left left =
	    left_copy(b->arena, &frame->snap, b->only ? NULL : &frame->left);
	bool parts_others = false;

	for (size_t i = 0; i < state->nodes.n; i++) {
		const struct node *node = &state->nodes.node[i];

		if (b->snap->gpu.parts)
			take_parts(node, left.gpu + b->snap->node.gpu_first[i]);
		take_others(b, &left, i);
		parts_others |= node->parts_others != NULL;
	}
	if (b->snap->gpu.parts && parts_others)
		hold_for_others(b, frame, left.gpu);
	b->snap->node.cpu_free = left.cpu;
	b->snap->node.mem_free = left.mem;
	b->snap->node.tmp_free = left.tmp;
	b->snap->node.slot_free = left.slots;
	b->snap->node.dev_free = left.dev;
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
