/* snapshot.c - what the scheduler sees, and what becomes of its plan */
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/state_priv.h"
#include "libcommon/constraint.h"
#include "libcommon/hostlist.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

int licenses_parse(const struct conf *conf, const char *text,
                   struct snap_license_use ret[MAX_LICENSES], size_t *ret_n,
                   struct err *err)
{
	size_t n = 0;

	for (const char *s = text; *s; s += *s == ',') {
		size_t len = strcspn(s, ",:"), i = 0;
		int64_t count = 1;
		char *end;

		while (i < conf->nlicenses &&
		       (strlen(conf->licenses[i].name) != len ||
		        strncmp(conf->licenses[i].name, s, len)))
			i++;
		if (i == conf->nlicenses)
			return err_set(err, ENOENT,
			               "there is no licence '%.*s'", (int)len,
			               s);
		s += len;
		if (*s == ':') {
			errno = 0;
			count = strtoll(s + 1, &end, 10);
			if (end == s + 1 || errno || count < 1 ||
			    (*end && *end != ','))
				return err_set(err, EINVAL,
				               "licences '%s': a count of 1 "
				               "or more is expected after ':'",
				               text);
			s = end;
		}
		if (n == MAX_LICENSES)
			return err_set(err, EINVAL,
			               "at most %d kinds of licences a job",
			               MAX_LICENSES);
		ret[n++] = (struct snap_license_use){ (uint32_t)i, count };
	}
	*ret_n = n;
	return 0;
}

/* --- building ---------------------------------------------------------- */

/* A list that grows in the arena; what it outgrows is left there. */
struct vec {
	void *p;
	size_t n, cap;
};

struct build {
	const struct state *state;
	struct job *placed; /* those that run, as far as they count */
	struct arena *arena;
	struct arena *scratch; /* gone when the snapshot is built */
	struct snap *snap;
	struct map word_of, req_of; /* hash -> index + 1 */
	struct vec words, features, taints, rules, wants, avoids, uses, claims;
	struct vec guests; /* users of reservations */
	struct vec reqs;   /* in scratch */
};

static void *push_to(struct arena *arena, struct vec *v, size_t size)
{
	if (v->n == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 32;
		void *p = arena_alloc(arena, cap, size);

		if (v->n)
			memcpy(p, v->p, v->n * size);
		v->p = p;
		v->cap = cap;
	}
	return (char *)v->p + size * v->n++;
}

static void *push(struct build *b, struct vec *v, size_t size)
{
	return push_to(b->arena, v, size);
}

static int32_t word(const char *text, size_t len, void *arg)
{
	struct build *b = arg;
	uint64_t key = hash_bytes(1, text, len);
	uintptr_t known = (uintptr_t)map_find(&b->word_of, key);
	char *copy;

	if (known)
		return (int32_t)known - 1;
	copy = arena_alloc(b->arena, len + 1, 1);
	memcpy(copy, text, len);
	*(const char **)push(b, &b->words, sizeof(char *)) = copy;
	map_set(&b->word_of, key, (void *)(uintptr_t)b->words.n);
	return (int32_t)b->words.n - 1;
}

static uint32_t word_or_none(struct build *b, const char *s)
{
	return s && *s ? (uint32_t)word(s, strlen(s), b) : SNAP_NONE;
}

static void push_words(struct build *b, struct vec *v,
                       const struct strlist *list)
{
	for (size_t i = 0; i < list->n; i++)
		*(uint32_t *)push(b, v, sizeof(uint32_t)) =
		    (uint32_t)word(list->s[i], strlen(list->s[i]), b);
}

/* Columns are written through these: the snapshot's own are const. */
#define COLUMN(type, n) arena_array(b->arena, type, (n) + 1)

static void build_policy(struct build *b)
{
	const struct conf_scheduling *c = &b->state->conf->scheduling;

	b->snap->policy = (struct snap_policy){
		.order = (uint8_t)c->order,
		.backfill = c->backfill,
		.consolidate = c->consolidate,
		.backfill_depth = (uint32_t)c->backfill_depth,
		.age_weight = c->age_weight,
		.size_weight = c->size_weight,
		.fairshare_weight = c->fairshare_weight,
		.hold_after = c->hold_after,
	};
}

static void build_pools(struct build *b)
{
	const struct conf *conf = b->state->conf;
	const char **name = COLUMN(const char *, conf->npools);
	uint8_t *order = COLUMN(uint8_t, conf->npools);
	uint8_t *ready = COLUMN(uint8_t, conf->npools);

	for (size_t i = 0; i < conf->npools; i++) {
		name[i] = arena_strdup(b->arena, conf->pools[i].name);
		order[i] = (uint8_t)conf->pools[i].order;
		ready[i] = b->state->pool_ready[i];
	}
	b->snap->pool =
	    (struct snap_pools){ (uint32_t)conf->npools, name, order, ready };
}

uint8_t node_status(const struct node *node)
{
	return node->gone || node->down          ? NODE_DOWN
	       : node->drained || node->cordoned ? NODE_DRAIN
	                                         : NODE_UP;
}

/* What is left of the nodes while running jobs are taken off. */
struct left {
	int64_t *cpu, *mem;
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

static void build_nodes(struct build *b)
{
	const struct state *state = b->state;
	size_t n = state->nnodes, gpus = 0, cpus = 0;
	const char **name = COLUMN(const char *, n);
	uint32_t *pool = COLUMN(uint32_t, n);
	uint8_t *status = COLUMN(uint8_t, n);
	int64_t *cpu_total = COLUMN(int64_t, n), *cpu_free = COLUMN(int64_t, n);
	int64_t *mem_total = COLUMN(int64_t, n), *mem_free = COLUMN(int64_t, n);
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
		uint32_t type = word_or_none(b, node->gpu_type);

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
		.gpu_first = gpu_first,
		.cpu_first = cpu_first,
		.feature_first = feature_first,
		.taint_first = taint_first,
		.domain = domain,
		.retry_at = retry,
	};
	/* What runs is taken off. */
	for (struct job *job = b->placed; job; job = job->row_next) {
		struct left left = { cpu_free, mem_free, gpu_free,
			             cpu_free_milli };

		take_off(b, job, job->place, &left);
		if (job->leaving)
			take_off(b, job, job->leaving, &left);
	}
	for (size_t i = 0; i < n; i++)
		take_for_others(&state->node[i], gpu_free + gpu_first[i]);
}

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
			*(uint32_t *)push(b, &b->guests, sizeof(uint32_t)) =
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

static void build_reservations(struct build *b)
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

static void build_queues(struct build *b)
{
	const struct conf *conf = b->state->conf;
	size_t n = conf->nqueues;
	const char **name = COLUMN(const char *, n);
	uint32_t *parent = COLUMN(uint32_t, n);
	int64_t(*quota)[RES_N] = arena_alloc(b->arena, n + 1, sizeof(*quota));
	int64_t(*limit)[RES_N] = arena_alloc(b->arena, n + 1, sizeof(*limit));
	int64_t *weight = COLUMN(int64_t, n), *priority = COLUMN(int64_t, n);
	int64_t *max_jobs = COLUMN(int64_t, n), *assumed = COLUMN(int64_t, n);
	int64_t *max_user = COLUMN(int64_t, n), *max_gpus = COLUMN(int64_t, n);
	int64_t *max_wait = COLUMN(int64_t, n);

	for (size_t i = 0; i < n; i++) {
		const struct conf_queue *q = &conf->queues[i];

		name[i] = arena_strdup(b->arena, q->name);
		parent[i] = q->parent < 0 ? SNAP_NONE : (uint32_t)q->parent;
		memcpy(quota[i], q->quota, sizeof(quota[i]));
		memcpy(limit[i], q->limit, sizeof(limit[i]));
		weight[i] = q->weight;
		priority[i] = q->priority;
		max_jobs[i] = q->max_jobs;
		max_user[i] = q->max_jobs_per_user;
		max_gpus[i] = q->max_gpus_per_user;
		assumed[i] = q->assumed_time;
		max_wait[i] = q->max_wait;
	}
	b->snap->queue = (struct snap_queues){
		.n = (uint32_t)n,
		.name = name,
		.parent = parent,
		.quota = (const int64_t(*)[RES_N])quota,
		.limit = (const int64_t(*)[RES_N])limit,
		.weight = weight,
		.priority = priority,
		.max_jobs = max_jobs,
		.max_jobs_user = max_user,
		.max_gpus_user = max_gpus,
		.assumed_time = assumed,
		.max_wait = max_wait,
	};
}

static void build_users(struct build *b)
{
	const struct state *state = b->state;
	const char **name = COLUMN(const char *, state->nusers);

	for (size_t i = 0; i < state->nusers; i++)
		name[i] = state->user[i].name;
	b->snap->user = (struct snap_users){ (uint32_t)state->nusers, name };
}

/* --- requests ---------------------------------------------------------- */

/* One request; its lists begin where these counts stood. */
struct req_row {
	const struct row_key *key;
	uint32_t gpu_type;
	uint32_t rule, want, avoid, license;
};

static void push_hosts(struct build *b, struct vec *v, const char *text)
{
	struct hostlist list;

	if (!*text || hostlist_parse(&list, text, NULL) < 0)
		return;
	for (size_t i = 0; i < list.n; i++) {
		int node = state_node_find(b->state, list.name[i]);

		if (node >= 0)
			*(uint32_t *)push(b, v, sizeof(uint32_t)) =
			    (uint32_t)node;
	}
	hostlist_free(&list);
}

static void push_rule(struct build *b, const char *text)
{
	int32_t rule[256];
	size_t n = 0;

	if (!*text || constraint_parse(text, word, b, rule, ARRAY_SIZE(rule),
	                               &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		*(int32_t *)push(b, &b->rules, sizeof(int32_t)) = rule[i];
}

static void push_licenses(struct build *b, const char *text)
{
	struct snap_license_use use[MAX_LICENSES];
	size_t n;

	if (licenses_parse(b->state->conf, text, use, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		*(struct snap_license_use *)push(b, &b->uses, sizeof(*use)) =
		    use[i];
}

/* The number of the request in this key, which stays where it is until the
 * snapshot is built; equal ones share one. */
static uint32_t intern_req(struct build *b, const char *key, uint64_t hash)
{
	uintptr_t known = (uintptr_t)map_find(&b->req_of, hash);
	struct req_row *req;

	if (known)
		return (uint32_t)known - 1;
	req = push_to(b->scratch, &b->reqs, sizeof(*req));
	*req = (struct req_row){
		.key = (const struct row_key *)(const void *)key,
		.gpu_type = word_or_none(b, row_text(key, KEY_GPU_TYPE)),
		.rule = (uint32_t)b->rules.n,
		.want = (uint32_t)b->wants.n,
		.avoid = (uint32_t)b->avoids.n,
		.license = (uint32_t)b->uses.n,
	};
	push_rule(b, row_text(key, KEY_RULE));
	push_hosts(b, &b->wants, row_text(key, KEY_WANT));
	push_hosts(b, &b->avoids, row_text(key, KEY_AVOID));
	push_licenses(b, row_text(key, KEY_LICENSES));
	map_set(&b->req_of, hash, (void *)(uintptr_t)b->reqs.n);
	return (uint32_t)b->reqs.n - 1;
}

static uint32_t placed_req(struct build *b, struct job *job)
{
	const struct placed_key *key = placed_key(b->state, job);

	return intern_req(b, key->text, key->req_hash);
}

/* Of a job that is in no row. */
static uint32_t extra_req(struct build *b, const struct job *job)
{
	struct buf key = { 0 };
	uint64_t hash;
	char *copy;

	row_key_build(b->state, job, &key);
	hash = row_req_hash(key.data, key.len);
	copy = arena_alloc(b->scratch, key.len, 1);
	memcpy(copy, key.data, key.len);
	buf_free(&key);
	return intern_req(b, copy, hash);
}

static uint32_t reservation_of(const struct snap *snap, const char *name)
{
	for (uint32_t i = 0; *name && i < snap->resv.n; i++)
		if (!strcmp(snap->resv.name[i], name))
			return i;
	return SNAP_NONE;
}

static void finish_reqs(struct build *b)
{
	const struct req_row *r = b->reqs.p;
	size_t n = b->reqs.n;
	uint32_t *tasks = COLUMN(uint32_t, n), *min = COLUMN(uint32_t, n);
	uint32_t *nodes = COLUMN(uint32_t, n), *per = COLUMN(uint32_t, n);
	int64_t *cpus = COLUMN(int64_t, n), *mem = COLUMN(int64_t, n);
	int64_t *gpus = COLUMN(int64_t, n), *limit = COLUMN(int64_t, n);
	uint32_t *type = COLUMN(uint32_t, n), *rule = COLUMN(uint32_t, n);
	uint32_t *want = COLUMN(uint32_t, n), *avoid = COLUMN(uint32_t, n);
	uint32_t *license = COLUMN(uint32_t, n);
	uint64_t *pools = COLUMN(uint64_t, n);
	uint8_t *exclusive = COLUMN(uint8_t, n), *one = COLUMN(uint8_t, n);
	uint8_t *need = COLUMN(uint8_t, n), *like = COLUMN(uint8_t, n);
	uint8_t *numa = COLUMN(uint8_t, n);
	uint32_t *reservation = COLUMN(uint32_t, n);

	for (size_t i = 0; i < n; i++) {
		const struct row_key *key = r[i].key;

		tasks[i] = key->tasks;
		min[i] = key->min_tasks;
		nodes[i] = key->nodes;
		per[i] = key->tasks_per_node;
		cpus[i] = key->cpus;
		mem[i] = key->mem;
		gpus[i] = key->gpus;
		limit[i] = key->time_limit;
		pools[i] = key->pools;
		exclusive[i] = key->exclusive;
		one[i] = key->one_process;
		need[i] = key->need;
		like[i] = key->like;
		numa[i] = key->numa;
		reservation[i] = reservation_of(
		    b->snap, row_text((const char *)key, KEY_RESERVATION));
		type[i] = r[i].gpu_type;
		rule[i] = r[i].rule;
		want[i] = r[i].want;
		avoid[i] = r[i].avoid;
		license[i] = r[i].license;
	}
	rule[n] = (uint32_t)b->rules.n;
	want[n] = (uint32_t)b->wants.n;
	avoid[n] = (uint32_t)b->avoids.n;
	license[n] = (uint32_t)b->uses.n;
	b->snap->req = (struct snap_reqs){
		.n = (uint32_t)n,
		.tasks = tasks,
		.min_tasks = min,
		.nodes = nodes,
		.tasks_per_node = per,
		.cpus = cpus,
		.mem = mem,
		.gpus = gpus,
		.gpu_type = type,
		.pools = pools,
		.exclusive = exclusive,
		.one_process = one,
		.time_limit = limit,
		.rule_first = rule,
		.want_first = want,
		.avoid_first = avoid,
		.license_first = license,
		.need = need,
		.like = like,
		.numa = numa,
		.reservation = reservation,
	};
	b->snap->rule = b->rules.p;
	b->snap->want = b->wants.p;
	b->snap->avoid = b->avoids.p;
	b->snap->license_use = b->uses.p;
}

/* --- jobs -------------------------------------------------------------- */

/* A bit for each. */
static uint64_t gpus_of(const struct state *state, uint32_t node)
{
	uint32_t n = state->node[node].ngpus;

	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

/* Those that the node still has: it may have shrunk. */
static uint32_t cpus_held(const struct state *state, const struct placement *p,
                          uint32_t task, struct snap_cpu_use *ret)
{
	const struct snap_task *t = &p->task[task];
	uint32_t n = 0;

	for (uint32_t c = t->cpu_first; c < t[1].cpu_first; c++)
		if (p->cpu_use[c].cpu < state->node[t->node].ncpus)
			ret[n++] = p->cpu_use[c];
	return n;
}

static bool is_freezable(const struct state *state, const struct job *job)
{
	return job->on_preempt == PREEMPT_SUSPEND && job_can_freeze(state, job);
}

struct run_columns {
	uint32_t *req, *queue, *user, *first, *claim;
	int64_t *priority, *start, *end, *safe;
	uint8_t *suspended, *preemptible, *ending, *freezable;
	uint64_t *id;
	struct snap_task *task;
	struct snap_cpu_use *use;
	size_t n, ntasks, nuse;
};

/* Room for n rows. */
static struct run_columns run_columns(struct build *b, size_t n, size_t ntasks,
                                      size_t nuse)
{
	return (struct run_columns){
		.id = COLUMN(uint64_t, n),
		.req = COLUMN(uint32_t, n),
		.queue = COLUMN(uint32_t, n),
		.user = COLUMN(uint32_t, n),
		.first = COLUMN(uint32_t, n),
		.claim = COLUMN(uint32_t, n),
		.priority = COLUMN(int64_t, n),
		.start = COLUMN(int64_t, n),
		.end = COLUMN(int64_t, n),
		.safe = COLUMN(int64_t, n),
		.suspended = COLUMN(uint8_t, n),
		.preemptible = COLUMN(uint8_t, n),
		.ending = COLUMN(uint8_t, n),
		.freezable = COLUMN(uint8_t, n),
		.task = COLUMN(struct snap_task, ntasks),
		.use = COLUMN(struct snap_cpu_use, nuse),
	};
}

static void push_claim(struct build *b, const struct held *claim)
{
	for (uint32_t i = 0; claim && i < claim->n; i++)
		*(uint32_t *)push(b, &b->claims, sizeof(uint32_t)) =
		    claim->node[i];
}

static void run_tasks(const struct state *state, struct run_columns *c,
                      const struct placement *p)
{
	for (uint32_t t = 0; t < p->ntasks; t++) {
		struct snap_task *task = &c->task[c->ntasks++];

		*task = p->task[t];
		task->gpus &= gpus_of(state, p->task[t].node);
		task->cpu_first = (uint32_t)c->nuse;
		c->nuse += cpus_held(state, p, t, c->use + c->nuse);
	}
}

/* What the job has there: its place, or what leaves it. */
static void run_row(struct build *b, struct run_columns *c, struct job *job,
                    const struct placement *p)
{
	int64_t due = job_due(job);
	size_t i = c->n++;

	c->id[i] = job->id;
	c->req[i] = placed_req(b, job);
	c->queue[i] = job->queue;
	c->user[i] = job->user;
	c->priority[i] = job->priority;
	c->start[i] = job->start;
	c->end[i] = due == NO_TIME ? SNAP_NEVER : due;
	c->suspended[i] = job->state == JOB_SUSPENDED;
	c->preemptible[i] = job->preemptible;
	c->ending[i] = p == job->leaving || evict_is_ending(job);
	c->freezable[i] = is_freezable(b->state, job);
	c->safe[i] = evict_safe_until(b->state, job);
	c->first[i] = (uint32_t)c->ntasks;
	c->claim[i] = (uint32_t)b->claims.n;
	/* A suspended job holds nodes to go on: as one that waits. */
	if (p == job->place && job->state != JOB_SUSPENDED)
		push_claim(b, job->claim);
	run_tasks(b->state, c, p);
}

static void build_run(struct build *b)
{
	size_t n = 0, ntasks = 0, nuse = 0;
	struct run_columns c;

	for (const struct job *job = b->placed; job; job = job->row_next) {
		const struct placement *p = job->place, *l = job->leaving;

		n += l ? 2 : 1;
		ntasks += p->ntasks + (l ? l->ntasks : 0);
		nuse += p->task[p->ntasks].cpu_first;
		nuse += l ? l->task[l->ntasks].cpu_first : 0;
	}
	c = run_columns(b, n, ntasks, nuse);
	for (struct job *job = b->placed; job; job = job->row_next) {
		run_row(b, &c, job, job->place);
		if (job->leaving)
			run_row(b, &c, job, job->leaving);
	}
	c.first[n] = (uint32_t)c.ntasks;
	c.claim[n] = (uint32_t)b->claims.n;
	c.task[c.ntasks].cpu_first = (uint32_t)c.nuse;
	b->snap->run = (struct snap_run){
		.n = (uint32_t)n,
		.job = c.id,
		.req = c.req,
		.queue = c.queue,
		.user = c.user,
		.priority = c.priority,
		.start = c.start,
		.end = c.end,
		.suspended = c.suspended,
		.preemptible = c.preemptible,
		.ending = c.ending,
		.freezable = c.freezable,
		.safe_until = c.safe,
		.task_first = c.first,
		.claim_first = c.claim,
	};
	b->snap->task = c.task;
	b->snap->cpu_use = c.use;
}

static struct snap_member member_of(const struct state *state,
                                    const struct job *job)
{
	const struct array *array =
	    job->array ? state_array(state, job->array) : NULL;
	uint32_t count = job_count(job), room = count;

	if (array && array->limit)
		room = array->running >= array->limit
		           ? 0
		           : array->limit - array->running;
	return (struct snap_member){ job->id, count,
		                     room < count ? room : count,
		                     job->eligible };
}

struct pend_columns {
	uint32_t *req, *queue, *user, *first, *resumes, *claim;
	int64_t *priority;
	uint8_t *preemptible, *barred;
	uint16_t *light;
	struct snap_member *member;
	size_t n, nmembers;
};

static void pend_row(struct build *b, struct pend_columns *c,
                     const struct job *job, uint32_t req, uint32_t resumes)
{
	const struct usage *usage = usage_find(b->state, job->queue, job->user);

	c->req[c->n] = req;
	c->queue[c->n] = job->queue;
	c->user[c->n] = job->user;
	c->priority[c->n] = job->priority;
	c->resumes[c->n] = resumes;
	c->preemptible[c->n] = job->preemptible;
	c->barred[c->n] = job->start_fails > 0;
	c->light[c->n] = usage ? usage->light : LIGHT_MOST;
	c->claim[c->n] = (uint32_t)b->claims.n;
	push_claim(b, job->claim);
	c->first[c->n++] = (uint32_t)c->nmembers;
}

/* All rows, then suspended jobs that are to go on, then `extra` if any. */
static void build_pend(struct build *b, const struct job *extra, bool only)
{
	const struct state *state = b->state;
	size_t rows = extra ? 1 : 0, members = rows;
	uint32_t run = 0;
	struct pend_columns c = { 0 };

	for (size_t i = 0; !only && i < state->nrows; i++)
		members += state->row[i]->njobs;
	rows += only ? 0 : state->nrows + b->snap->run.n;
	members += only ? 0 : b->snap->run.n;
	c.req = COLUMN(uint32_t, rows);
	c.queue = COLUMN(uint32_t, rows);
	c.user = COLUMN(uint32_t, rows);
	c.first = COLUMN(uint32_t, rows);
	c.resumes = COLUMN(uint32_t, rows);
	c.claim = COLUMN(uint32_t, rows);
	c.preemptible = COLUMN(uint8_t, rows);
	c.barred = COLUMN(uint8_t, rows);
	c.light = COLUMN(uint16_t, rows);
	c.priority = COLUMN(int64_t, rows);
	c.member = COLUMN(struct snap_member, members);
	for (size_t i = 0; !only && i < state->nrows; i++) {
		const struct row *row = state->row[i];

		pend_row(b, &c, row->head,
		         intern_req(b, row->key, row->req_hash), SNAP_NONE);
		for (const struct job *job = row->head; job;
		     job = job->row_next)
			c.member[c.nmembers++] = member_of(state, job);
	}
	for (const struct job *job = b->placed; job;
	     run += job->leaving ? 2 : 1, job = job->row_next) {
		if (!job->wants_resume)
			continue;
		pend_row(b, &c, job, b->snap->run.req[run], run);
		c.member[c.nmembers++] =
		    (struct snap_member){ job->id, 1, 1, job->eligible };
	}
	if (extra) {
		pend_row(b, &c, extra, extra_req(b, extra), SNAP_NONE);
		c.member[c.nmembers++] =
		    (struct snap_member){ extra->id, 1, 1, extra->eligible };
	}
	c.first[c.n] = (uint32_t)c.nmembers;
	c.claim[c.n] = (uint32_t)b->claims.n;
	b->snap->pend = (struct snap_pend){
		.n = (uint32_t)c.n,
		.req = c.req,
		.queue = c.queue,
		.user = c.user,
		.priority = c.priority,
		.member_first = c.first,
		.resumes = c.resumes,
		.preemptible = c.preemptible,
		.barred = c.barred,
		.light = c.light,
		.claim_first = c.claim,
	};
	b->snap->claim = b->claims.n ? b->claims.p : COLUMN(uint32_t, 0);
	b->snap->member = c.member;
}

static void build_licenses(struct build *b)
{
	const struct conf *conf = b->state->conf;
	size_t n = conf->nlicenses;
	const char **name = COLUMN(const char *, n);
	int64_t *total = COLUMN(int64_t, n), *left = COLUMN(int64_t, n);
	struct snap_license_use use[MAX_LICENSES];

	for (size_t i = 0; i < n; i++) {
		name[i] = arena_strdup(b->arena, conf->licenses[i].name);
		total[i] = left[i] = conf->licenses[i].count;
	}
	for (const struct job *job = b->placed; n && job; job = job->row_next) {
		struct spec spec;
		size_t k = 0;

		spec_unpack(&spec, job->packed);
		if (spec.licenses &&
		    licenses_parse(conf, spec.licenses, use, &k, NULL) == 0)
			while (k--)
				left[use[k].license] -= use[k].count;
	}
	b->snap->license =
	    (struct snap_licenses){ (uint32_t)n, name, total, left };
}

/* What was built of words and requests, now that their number is known. */
static void finish(struct build *b)
{
	finish_reqs(b);
	b->snap->nwords = (uint32_t)b->words.n;
	b->snap->word = b->words.p;
	map_free(&b->word_of);
	map_free(&b->req_of);
	arena_free(b->scratch);
}

const struct snap *snap_build(const struct state *state, int64_t now,
                              struct arena *arena, const struct job *extra,
                              bool only)
{
	struct build b = { .state = state,
		           .placed = only ? NULL : state->placed,
		           .arena = arena,
		           .scratch = arena_new() };

	b.snap = arena_alloc(arena, 1, sizeof(*b.snap));
	b.snap->now = now;
	b.snap->gen = state->gen;
	build_policy(&b);
	build_pools(&b);
	build_nodes(&b);
	build_reservations(&b);
	build_queues(&b);
	build_users(&b);
	build_licenses(&b);
	build_run(&b);
	build_pend(&b, extra, only);
	b.snap->feature = b.features.p;
	b.snap->taint = b.taints.p;
	finish(&b);
	return b.snap;
}

const struct snap *snap_of_job(const struct state *state,
                               const struct snap *names, const struct job *job,
                               struct arena *arena)
{
	struct build b = { .state = state,
		           .arena = arena,
		           .scratch = arena_new() };

	b.snap = arena_alloc(arena, 1, sizeof(*b.snap));
	*b.snap = *names;
	build_pend(&b, job, true);
	finish(&b);
	return b.snap;
}

const struct snap *state_snapshot(struct state *state, int64_t now,
                                  struct arena *arena)
{
	const struct snap *snap;

	state_judge_usage(state, now);
	snap = snap_build(state, now, arena, NULL, false);
	for (size_t i = 0; i < state->nrows; i++) {
		state->row[i]->planned = state->plan_serial + 1;
		state->row[i]->verdict = (uint32_t)i;
	}
	state->want_plan = false;
	return snap;
}

const struct snap *state_peek(struct state *state, int64_t now,
                              struct arena *arena)
{
	state_judge_usage(state, now);
	return snap_build(state, now, arena, NULL, false);
}
