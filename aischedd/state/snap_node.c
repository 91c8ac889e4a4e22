/* snap_node.c - what there is, for the scheduler */
#include "aischedd/state/snap_build.h"

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
	return node->gone || node->down          ? NODE_DOWN
	       : node->drained || node->cordoned ? NODE_DRAIN
	                                         : NODE_UP;
}

/* What is left of the nodes while running jobs are taken off. */
struct left {
	int64_t *cpu, *mem, *slot;
	uint16_t *gpu, *thread;
};

/* Others may have the CPUs of one that was suspended and now ends. */
static void take_thread(uint16_t *nfree, uint16_t milli)
{
	*nfree -= milli < *nfree ? milli : *nfree;
}

/* Suspended jobs gave their CPUs back. */
static void take_off(const struct build *b, struct job *job,
                     const struct placement *p, const struct left *left)
{
	const struct state *state = b->state;
	const struct snap_nodes *n = &b->snap->node;
	const struct row_key *req = (const void *)placed_key(state, job)->text;

	for (uint32_t i = 0; i < p->ntasks; i++) {
		const struct snap_task *t = &p->task[i];
		uint16_t *gpu = left->gpu + n->gpu_first[t->node];
		uint16_t *thread = left->thread + n->cpu_first[t->node];

		left->mem[t->node] -= req->mem;
		left->slot[t->node]--;
		for (uint32_t g = 0; g < state->node[t->node].ngpus; g++)
			if (t->gpus >> g & 1)
				gpu[g] -= t->gpu_milli;
		if (job->state == JOB_SUSPENDED)
			continue;
		left->cpu[t->node] -= req->cpus;
		for (uint32_t c = t->cpu_first; c < t[1].cpu_first; c++)
			if (p->cpu_use[c].cpu < state->node[t->node].ncpus)
				take_thread(&thread[p->cpu_use[c].cpu],
				            p->cpu_use[c].milli);
	}
}

/* Others say how many devices they have, not which: the last ones that are
 * free. */
static void take_for_others(const struct node *node, uint16_t *gpu_free)
{
	uint32_t left = node->gpus_others;

	for (uint32_t g = node->ngpus; g-- && left;)
		if (gpu_free[g] == 1000) {
			gpu_free[g] = 0;
			left--;
		}
}

void snapshot_nodes(struct build *b)
{
	const struct state *state = b->state;
	size_t n = state->nnodes, gpus = 0, cpus = 0;
	const char **name = COLUMN(const char *, n);
	uint32_t *pool = COLUMN(uint32_t, n);
	uint8_t *status = COLUMN(uint8_t, n);
	int64_t *cpu_total = COLUMN(int64_t, n), *cpu_free = COLUMN(int64_t, n);
	int64_t *mem_total = COLUMN(int64_t, n), *mem_free = COLUMN(int64_t, n);
	int64_t *slots = COLUMN(int64_t, n), *slots_free = COLUMN(int64_t, n);
	int64_t *retry = COLUMN(int64_t, n);
	uint32_t *gpu_first = COLUMN(uint32_t, n);
	uint32_t *cpu_first = COLUMN(uint32_t, n);
	uint32_t *feature_first = COLUMN(uint32_t, n);
	uint32_t *taint_first = COLUMN(uint32_t, n);
	uint32_t *domain = places_build(state, b->snap, b->arena);
	uint16_t *gpu_free, *cpu_free_milli, *core;
	uint8_t *gpu_numa, *gpu_link, *cpu_numa;
	uint32_t *gpu_type;

	for (size_t i = 0; i < n; i++) {
		const struct node *node = &state->node[i];

		name[i] = node->name;
		pool[i] = node->pool;
		status[i] = node_status(node);
		cpu_total[i] = node->cpu_milli;
		mem_total[i] = node->mem_mib;
		cpu_free[i] = node->cpu_milli - node->cpu_others;
		mem_free[i] = node->mem_mib - node->mem_others;
		slots[i] = node->slots ? node->slots : SLOTS_ANY;
		slots_free[i] = slots[i] - node->slots_others;
		retry[i] = node->retry_at;
		gpu_first[i] = (uint32_t)gpus;
		cpu_first[i] = (uint32_t)cpus;
		feature_first[i] = (uint32_t)b->features.n;
		taint_first[i] = (uint32_t)b->taints.n;
		if (node->conf) {
			push_words(b, &b->features, &node->conf->features);
			push_words(b, &b->taints, &node->conf->taints);
		}
		push_words(b, &b->features, &node->features);
		push_words(b, &b->taints, &node->taints);
		gpus += node->ngpus;
		cpus += node->ncpus;
	}
	gpu_first[n] = (uint32_t)gpus;
	cpu_first[n] = (uint32_t)cpus;
	feature_first[n] = (uint32_t)b->features.n;
	taint_first[n] = (uint32_t)b->taints.n;
	gpu_free = COLUMN(uint16_t, gpus);
	gpu_type = COLUMN(uint32_t, gpus);
	gpu_numa = COLUMN(uint8_t, gpus);
	gpu_link = COLUMN(uint8_t, gpus);
	cpu_free_milli = COLUMN(uint16_t, cpus);
	core = COLUMN(uint16_t, cpus);
	cpu_numa = COLUMN(uint8_t, cpus);
	for (size_t i = 0; i < n; i++) {
		const struct node *node = &state->node[i];
		uint32_t type = snapshot_word_or_none(b, node->gpu_type);

		for (uint32_t g = 0; g < node->ngpus; g++) {
			gpu_free[gpu_first[i] + g] = 1000;
			gpu_type[gpu_first[i] + g] = type;
			gpu_numa[gpu_first[i] + g] = node_gpu_numa(node, g);
			gpu_link[gpu_first[i] + g] = node_gpu_link(node, g);
		}
		for (uint32_t c = 0; c < node->ncpus; c++) {
			cpu_free_milli[cpu_first[i] + c] =
			    node->cpu_reserved[c] ? 0 : 1000;
			core[cpu_first[i] + c] = node->cpu_core[c];
			cpu_numa[cpu_first[i] + c] = node->cpu_numa[c];
		}
	}
	b->snap->gpu = (struct snap_gpus){ (uint32_t)gpus, gpu_free, gpu_type,
		                           gpu_numa, gpu_link };
	b->snap->cpu = (struct snap_cpus){ (uint32_t)cpus, cpu_free_milli, core,
		                           cpu_numa };
	b->snap->node = (struct snap_nodes){
		.n = (uint32_t)n,
		.name = name,
		.pool = pool,
		.state = status,
		.cpu_total = cpu_total,
		.cpu_free = cpu_free,
		.mem_total = mem_total,
		.mem_free = mem_free,
		.slot_total = slots,
		.slot_free = slots_free,
		.gpu_first = gpu_first,
		.cpu_first = cpu_first,
		.feature_first = feature_first,
		.taint_first = taint_first,
		.domain = domain,
		.retry_at = retry,
	};
	/* What runs is taken off. */
	for (struct job *job = b->placed; job; job = job->row_next) {
		struct left left = { cpu_free, mem_free, slots_free, gpu_free,
			             cpu_free_milli };

		take_off(b, job, job->place, &left);
		if (job->leaving)
			take_off(b, job, job->leaving, &left);
	}
	for (size_t i = 0; i < n; i++)
		take_for_others(&state->node[i], gpu_free + gpu_first[i]);
}

/* --- reservations ------------------------------------------------------ */

/* Those among the names whose jobs are or were here. */
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
	for (size_t i = 0; state->nresv && i < state->nusers; i++) {
		const char *name = state->user[i].name;

		map_set(ret, hash_bytes(3, name, strlen(name)),
		        (void *)(uintptr_t)(i + 1));
	}
}

void snapshot_reservations(struct build *b)
{
	const struct state *state = b->state;
	size_t n = state->nresv, nodes = 0, at = 0;
	const char **name = COLUMN(const char *, n);
	int64_t *start = COLUMN(int64_t, n), *end = COLUMN(int64_t, n);
	uint32_t *first = COLUMN(uint32_t, n), *user = COLUMN(uint32_t, n);
	uint32_t *node;
	struct map users = { 0 };

	for (size_t i = 0; i < n; i++)
		nodes += state->resv[i].nnodes;
	node = COLUMN(uint32_t, nodes);
	index_users(state, &users);
	for (size_t i = 0; i < n; i++) {
		const struct reservation *r = &state->resv[i];

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

/* Names and times alone. */
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
