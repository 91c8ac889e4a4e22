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

/* --- building
 * ------------------------------------------------------------------ */

/* A list that grows in the arena; what it outgrows is left there. */
struct vec {
	void *p;
	size_t n, cap;
};

struct build {
	struct state *state;
	struct arena *arena;
	struct snap *snap;
	struct map word_of, req_of; /* hash -> index + 1 */
	struct vec words, features, taints, rules, wants, avoids, uses;
	/* columns of req, in step */
	struct vec reqs;
	size_t nreqs;
};

static void *push(struct build *b, struct vec *v, size_t size)
{
	if (v->n == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 32;
		void *p = arena_alloc(b->arena, cap, size);

		if (v->n)
			memcpy(p, v->p, v->n * size);
		v->p = p;
		v->cap = cap;
	}
	return (char *)v->p + size * v->n++;
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

static uint8_t node_status(const struct node *node)
{
	return node->gone || node->down ? NODE_DOWN
	       : node->drained          ? NODE_DRAIN
	                                : NODE_UP;
}

static void build_nodes(struct build *b)
{
	struct state *state = b->state;
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
	uint32_t *domain = COLUMN(uint32_t, n);
	uint16_t *gpu_free, *cpu_free_milli, *core;
	uint8_t *gpu_numa, *gpu_link, *cpu_numa;
	uint32_t *gpu_type;

	for (size_t i = 0; i < n; i++) {
		const struct node *node = &state->node[i];

		name[i] = node->name;
		pool[i] = node->pool;
		status[i] = node_status(node);
		cpu_total[i] = cpu_free[i] = node->cpu_milli;
		mem_total[i] = mem_free[i] = node->mem_mib;
		domain[i] = SNAP_NONE;
		gpu_first[i] = (uint32_t)gpus;
		cpu_first[i] = (uint32_t)cpus;
		feature_first[i] = (uint32_t)b->features.n;
		taint_first[i] = (uint32_t)b->taints.n;
		if (node->conf) {
			push_words(b, &b->features, &node->conf->features);
			push_words(b, &b->taints, &node->conf->taints);
		}
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
			gpu_numa[gpu_first[i] + g] = node->gpu_numa[g];
			gpu_link[gpu_first[i] + g] = node->gpu_link[g];
		}
		for (uint32_t c = 0; c < node->ncpus; c++) {
			cpu_free_milli[cpu_first[i] + c] =
			    node->cpu_reserved[c] ? 0 : 1000;
			core[cpu_first[i] + c] = node->cpu_core[c];
			cpu_numa[cpu_first[i] + c] = node->cpu_numa[c];
		}
	}
	/* What runs is taken off; suspended jobs gave their CPUs back. */
	for (const struct job *job = state->placed; job; job = job->row_next) {
		const struct placement *p = job->place;
		struct request req;
		struct spec spec;

		spec_unpack(&spec, job->packed);
		spec_resolve(&spec, job->mem_default, &req, NULL);
		for (uint32_t i = 0; i < p->ntasks; i++) {
			const struct snap_task *t = &p->task[i];
			uint32_t ngpus = state->node[t->node].ngpus;
			uint32_t ncpus = state->node[t->node].ncpus;

			mem_free[t->node] -= req.mem_mib;
			for (uint32_t g = 0; g < ngpus; g++)
				if (t->gpus >> g & 1)
					gpu_free[gpu_first[t->node] + g] -=
					    t->gpu_milli;
			if (job->state == JOB_SUSPENDED)
				continue;
			cpu_free[t->node] -= req.cpus_milli;
			for (uint32_t c = t->cpu_first; c < t[1].cpu_first; c++)
				if (p->cpu_use[c].cpu < ncpus)
					cpu_free_milli[cpu_first[t->node] +
					               p->cpu_use[c].cpu] -=
					    p->cpu_use[c].milli;
		}
	}
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
	b->snap->gpu = (struct snap_gpus){ (uint32_t)gpus, gpu_free, gpu_type,
		                           gpu_numa, gpu_link };
	b->snap->cpu = (struct snap_cpus){ (uint32_t)cpus, cpu_free_milli, core,
		                           cpu_numa };
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
	};
}

static void build_users(struct build *b)
{
	struct state *state = b->state;
	const char **name = COLUMN(const char *, state->nusers);

	for (size_t i = 0; i < state->nusers; i++)
		name[i] = state->user[i].name;
	b->snap->user = (struct snap_users){ (uint32_t)state->nusers, name };
}

/* --- requests
 * -------------------------------------------------------------------- */

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

/* The number of the request in this key; equal ones share one. */
static uint32_t intern_req(struct build *b, const char *key, size_t len)
{
	size_t shape = offsetof(struct row_key, queue);
	uint64_t hash =
	    hash_bytes(hash_bytes(0, key, shape), key + sizeof(struct row_key),
	               len - sizeof(struct row_key));
	uintptr_t known = (uintptr_t)map_find(&b->req_of, hash);
	struct req_row *req;
	char *copy;

	if (known)
		return (uint32_t)known - 1;
	copy = arena_alloc(b->arena, len, 1);
	memcpy(copy, key, len);
	req = push(b, &b->reqs, sizeof(*req));
	*req = (struct req_row){
		.key = (const struct row_key *)(const void *)copy,
		.gpu_type = word_or_none(b, row_text(copy, KEY_GPU_TYPE)),
		.rule = (uint32_t)b->rules.n,
		.want = (uint32_t)b->wants.n,
		.avoid = (uint32_t)b->avoids.n,
		.license = (uint32_t)b->uses.n,
	};
	push_rule(b, row_text(copy, KEY_RULE));
	push_hosts(b, &b->wants, row_text(copy, KEY_WANT));
	push_hosts(b, &b->avoids, row_text(copy, KEY_AVOID));
	push_licenses(b, row_text(copy, KEY_LICENSES));
	map_set(&b->req_of, hash, (void *)(uintptr_t)b->reqs.n);
	return (uint32_t)b->reqs.n - 1;
}

static uint32_t job_req(struct build *b, const struct job *job)
{
	struct buf key = { 0 };
	uint32_t req;

	row_key_build(b->state, job, &key);
	req = intern_req(b, key.data, key.len);
	buf_free(&key);
	return req;
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
	};
	b->snap->rule = b->rules.p;
	b->snap->want = b->wants.p;
	b->snap->avoid = b->avoids.p;
	b->snap->license_use = b->uses.p;
}

/* --- jobs
 * ---------------------------------------------------------------------------
 */

/* Numbers every running job in job->row_at for rows that resume. */
static void build_run(struct build *b)
{
	struct state *state = b->state;
	size_t n = 0, ntasks = 0, nuse = 0, i = 0, at = 0, use_at = 0;
	uint32_t *req, *queue, *user, *first;
	int64_t *priority, *start, *end;
	uint8_t *suspended, *preemptible;
	struct snap_cpu_use *use;
	struct snap_task *task;
	uint64_t *id;

	for (const struct job *job = state->placed; job; job = job->row_next) {
		n++;
		ntasks += job->place->ntasks;
		nuse += job->place->task[job->place->ntasks].cpu_first;
	}
	id = COLUMN(uint64_t, n);
	req = COLUMN(uint32_t, n);
	queue = COLUMN(uint32_t, n);
	user = COLUMN(uint32_t, n);
	first = COLUMN(uint32_t, n);
	priority = COLUMN(int64_t, n);
	start = COLUMN(int64_t, n);
	end = COLUMN(int64_t, n);
	suspended = COLUMN(uint8_t, n);
	preemptible = COLUMN(uint8_t, n);
	task = COLUMN(struct snap_task, ntasks);
	use = COLUMN(struct snap_cpu_use, nuse);
	for (const struct job *job = state->placed; job; job = job->row_next) {
		const struct placement *p = job->place;
		int64_t limit_at = job_limit_at(job);

		id[i] = job->id;
		req[i] = job_req(b, job);
		queue[i] = job->queue;
		user[i] = job->user;
		priority[i] = job->priority;
		start[i] = job->start;
		end[i] = limit_at == NO_TIME ? SNAP_NEVER : limit_at;
		suspended[i] = job->state == JOB_SUSPENDED;
		preemptible[i] = 1;
		first[i] = (uint32_t)at;
		for (uint32_t t = 0; t < p->ntasks; t++) {
			task[at] = p->task[t];
			task[at].cpu_first += (uint32_t)use_at;
			at++;
		}
		memcpy(use + use_at, p->cpu_use,
		       p->task[p->ntasks].cpu_first * sizeof(*use));
		use_at += p->task[p->ntasks].cpu_first;
		i++;
	}
	first[n] = (uint32_t)at;
	task[at].cpu_first = (uint32_t)use_at;
	b->snap->run = (struct snap_run){
		.n = (uint32_t)n,
		.job = id,
		.req = req,
		.queue = queue,
		.user = user,
		.priority = priority,
		.start = start,
		.end = end,
		.suspended = suspended,
		.preemptible = preemptible,
		.task_first = first,
	};
	b->snap->task = task;
	b->snap->cpu_use = use;
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
		                     room < count ? room : count };
}

struct pend_columns {
	uint32_t *req, *queue, *user, *first, *resumes;
	int64_t *priority;
	struct snap_member *member;
	size_t n, nmembers;
};

static void pend_row(struct build *b, struct pend_columns *c,
                     const struct job *job, const char *key, size_t len,
                     uint32_t resumes)
{
	c->req[c->n] = key ? intern_req(b, key, len) : job_req(b, job);
	c->queue[c->n] = job->queue;
	c->user[c->n] = job->user;
	c->priority[c->n] = job->priority;
	c->resumes[c->n] = resumes;
	c->first[c->n++] = (uint32_t)c->nmembers;
}

/* All rows, then suspended jobs that are to go on, then `extra` if any. */
static void build_pend(struct build *b, const struct job *extra, bool only)
{
	struct state *state = b->state;
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
	c.priority = COLUMN(int64_t, rows);
	c.member = COLUMN(struct snap_member, members);
	for (size_t i = 0; !only && i < state->nrows; i++) {
		const struct row *row = state->row[i];

		pend_row(b, &c, row->head, row->key, row->key_len, SNAP_NONE);
		for (const struct job *job = row->head; job;
		     job = job->row_next)
			c.member[c.nmembers++] = member_of(state, job);
	}
	for (const struct job *job = state->placed; !only && job;
	     job = job->row_next, run++) {
		if (!job->wants_resume)
			continue;
		pend_row(b, &c, job, NULL, 0, run);
		c.member[c.nmembers++] = (struct snap_member){ job->id, 1, 1 };
	}
	if (extra) {
		pend_row(b, &c, extra, NULL, 0, SNAP_NONE);
		c.member[c.nmembers++] =
		    (struct snap_member){ extra->id, 1, 1 };
	}
	c.first[c.n] = (uint32_t)c.nmembers;
	b->snap->pend = (struct snap_pend){
		.n = (uint32_t)c.n,
		.req = c.req,
		.queue = c.queue,
		.user = c.user,
		.priority = c.priority,
		.member_first = c.first,
		.resumes = c.resumes,
	};
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
	for (const struct job *job = b->state->placed; n && job;
	     job = job->row_next) {
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

/* only: nothing runs and nothing waits but extra. */
static const struct snap *build(struct state *state, int64_t now,
                                struct arena *arena, const struct job *extra,
                                bool only)
{
	struct build b = { .state = state, .arena = arena };
	struct job *placed = state->placed;

	b.snap = arena_alloc(arena, 1, sizeof(*b.snap));
	b.snap->now = now;
	b.snap->gen = state->gen;
	if (only)
		state->placed = NULL;
	build_pools(&b);
	build_nodes(&b);
	build_queues(&b);
	build_users(&b);
	build_licenses(&b);
	build_run(&b);
	build_pend(&b, extra, only);
	finish_reqs(&b);
	state->placed = placed;
	b.snap->nwords = (uint32_t)b.words.n;
	b.snap->word = b.words.p;
	b.snap->feature = b.features.p;
	b.snap->taint = b.taints.p;
	map_free(&b.word_of);
	map_free(&b.req_of);
	return b.snap;
}

const struct snap *state_snapshot(struct state *state, int64_t now,
                                  struct arena *arena)
{
	const struct snap *snap = build(state, now, arena, NULL, false);

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
	return build(state, now, arena, NULL, false);
}

/* --- fits at all?
 * ------------------------------------------------------------------- */

enum { FITS_MAX = 4096 };

static bool all_ready(const struct state *state, uint64_t pools)
{
	for (size_t i = 0; i < state->conf->npools; i++)
		if (pools >> i & 1 && !state->pool_ready[i])
			return false;
	return true;
}

int state_check_fit(struct state *state, const struct job *job, struct err *err)
{
	struct buf key = { 0 };
	struct row_key shape;
	struct arena *arena;
	uint64_t hash;
	int result = 0;

	row_key_build(state, job, &key);
	memcpy(&shape, key.data, sizeof(shape));
	memset(key.data + offsetof(struct row_key, user), 0,
	       sizeof(shape) - offsetof(struct row_key, user));
	hash = hash_bytes(2, key.data, key.len);
	buf_free(&key);
	if (!all_ready(state, shape.pools) || map_find(&state->fits, hash))
		return 0;
	arena = arena_new();
	result = sched_could_fit(build(state, 0, arena, job, true), 0, err);
	arena_free(arena);
	if (result < 0)
		return -1;
	if (state->fits.n == FITS_MAX)
		map_free(&state->fits);
	map_set(&state->fits, hash, state);
	return 0;
}

/* --- the plan
 * ------------------------------------------------------------------------ */

static bool nodes_are_up(const struct state *state,
                         const struct snap_task *task, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (node_status(&state->node[task[i].node]) != NODE_UP)
			return false;
	return true;
}

static void apply_start(struct state *state, const struct snap *snap,
                        const struct plan *plan, const struct start *start,
                        int64_t now)
{
	struct job *job = state_job(state, snap->member[start->member].job);
	const struct snap_task *task = plan->task + start->task_first;
	const struct array *array;
	struct event_in ev = { .now = now };
	struct placement *place;

	if (!job)
		return;
	if (job->state == JOB_SUSPENDED && job->wants_resume)
		ev.kind = EV_resumed;
	else if (job->row && nodes_are_up(state, task, start->ntasks))
		ev.kind = EV_start;
	else
		return;
	array = job->array ? state_array(state, job->array) : NULL;
	if (ev.kind == EV_start && array && array->limit &&
	    array->running >= array->limit)
		return;
	if (job->tasks.n)
		job = state_split_task(state, job, idset_min(&job->tasks));
	place = placement_new(start->ntasks, task, plan->cpu_use);
	ev.place = place;
	state_event(state, job, &ev, NULL);
	free(place);
}

void state_forget_plan(struct state *state)
{
	arena_free(state->plan_arena);
	state->plan_arena = NULL;
	state->snap = NULL;
	state->plan = NULL;
	state->plan_serial++;
}

void state_apply_plan(struct state *state, const struct snap *snap,
                      const struct plan *plan, struct arena **arena,
                      int64_t now)
{
	bool changed = state->want_plan;

	state_forget_plan(state);
	state->plan_arena = *arena;
	*arena = NULL;
	state->snap = snap;
	state->plan = plan;
	changed = changed || plan->gen != state->gen;
	for (uint32_t i = 0; i < plan->nstarts && plan->gen == state->gen; i++)
		apply_start(state, snap, plan, &plan->start[i], now);
	/* The starts themselves were planned: they need no other pass. */
	state->want_plan = changed;
}

/* --- why
 * -------------------------------------------------------------------------------
 */

static void text_since(struct buf *out, int64_t s)
{
	if (s < 0)
		s = 0;
	format_duration(out, s);
}

static void dependency_text(const struct state *state, const struct job *job,
                            struct buf *text)
{
	buf_puts(text, "waits for ");
	state_depend_format(job, text);
	for (uint32_t i = 0; i < job->deps->n; i++) {
		const struct dep *dep = &job->deps->dep[i];
		const struct job *on = state_job(state, dep->job);

		if (dep->never)
			buf_printf(text,
			           "; job %llu ended otherwise: this can no "
			           "longer be met",
			           (unsigned long long)dep->job);
		else if (on)
			buf_printf(text, "; job %llu is %s",
			           (unsigned long long)dep->job,
			           job_state_name(on->state));
	}
}

static void ineligible_text(const struct state *state, const struct job *job,
                            enum reason why, int64_t now, struct buf *text)
{
	switch (why) {
	case WHY_JobHeldUser:
	case WHY_JobHeldAdmin:
		buf_printf(text, "%s; `aictl release %llu` lets it go on",
		           reason_text(why), (unsigned long long)job->id);
		break;
	case WHY_Dependency:
	case WHY_DependencyNeverSatisfied:
		dependency_text(state, job, text);
		break;
	case WHY_BeginTime:
		buf_puts(text, "may begin in ");
		text_since(text, job->begin - now);
		break;
	case WHY_StartFailed:
		buf_printf(text, "%s; next try in ",
		           job->text ? job->text : reason_text(why));
		text_since(text, job->retry_at - now);
		break;
	case WHY_QueueClosed:
		buf_printf(text, "queue '%s' is closed",
		           state->conf->queues[job->queue].name);
		break;
	default:
		buf_puts(text, reason_text(why));
	}
}

enum reason state_why(const struct state *state, const struct job *job,
                      int64_t now, struct buf *text, int64_t *ret_expected,
                      uint32_t *ret_position)
{
	const struct verdict *v;
	enum reason why;

	*ret_expected = NO_TIME;
	*ret_position = 0;
	if (job_state_is_final(job->state)) {
		why = (enum reason)job->why;
		if (text)
			buf_puts(text,
			         job->text ? job->text : reason_text(why));
		return why;
	}
	if (job->state != JOB_PENDING) {
		if (text && job->text)
			buf_puts(text, job->text);
		return WHY_None;
	}
	why = state_ineligible(state, job);
	if (why != WHY_None) {
		if (why == WHY_BeginTime)
			*ret_expected = job->begin;
		if (text)
			ineligible_text(state, job, why, now, text);
		return why;
	}
	if (!job->row || !state->plan ||
	    job->row->planned != state->plan_serial) {
		if (text)
			buf_puts(text, reason_text(WHY_Unevaluated));
		return WHY_Unevaluated;
	}
	v = &state->plan->verdict[job->row->verdict];
	/* A plan that started all of the row said nothing about those that
	 * came later. */
	if (v->why == WHY_None) {
		if (text)
			buf_puts(text, reason_text(WHY_Unevaluated));
		return WHY_Unevaluated;
	}
	*ret_expected = v->expected == SNAP_NEVER ? NO_TIME : v->expected;
	*ret_position = v->position;
	if (text)
		verdict_text(state->snap, job->row->verdict, v, text);
	return v->why;
}

/* --- what if
 * ----------------------------------------------------------------------------
 */

void state_test_submit(struct state *state, const struct spec *spec,
                       const struct submitter *who, uint32_t queue, int64_t now,
                       struct test_result *ret, struct buf *text)
{
	struct job *job =
	    state_make_job(state, spec, who, queue, state->next_id, now);
	struct arena *arena = arena_new();
	const struct snap *snap = build(state, now, arena, job, false);
	const struct plan *plan = sched_plan(snap, arena);
	uint32_t row = snap->pend.n - 1;
	const struct verdict *v = &plan->verdict[row];

	*ret = (struct test_result){ .starts = v->started > 0,
		                     .why = v->why,
		                     .expected = NO_TIME };
	if (ret->starts)
		ret->expected = now;
	else if (v->expected != SNAP_NEVER)
		ret->expected = v->expected;
	for (uint32_t i = 0; i < plan->nstarts; i++) {
		const struct start *s = &plan->start[i];

		if (s->row != row)
			continue;
		for (uint32_t t = 0; t < s->ntasks; t++)
			buf_printf(
			    &ret->nodes, "%s%s", t ? "," : "",
			    state->node[plan->task[s->task_first + t].node]
				.name);
	}
	if (!ret->starts)
		verdict_text(snap, row, v, text);
	arena_free(arena);
	job_free(job);
}

/* --- sums for people
 * ------------------------------------------------------------------------ */

static void add_used(const struct job *job, int64_t node, int64_t ret[RES_N],
                     int sign)
{
	struct request req;
	struct spec spec;

	spec_unpack(&spec, job->packed);
	spec_resolve(&spec, job->mem_default, &req, NULL);
	for (uint32_t i = 0; i < job->place->ntasks; i++) {
		if (node >= 0 && job->place->task[i].node != (uint32_t)node)
			continue;
		if (job->state != JOB_SUSPENDED)
			ret[RES_CPU] += sign * req.cpus_milli;
		ret[RES_MEM] += sign * req.mem_mib;
		ret[RES_GPU] += sign * req.gpus_milli;
	}
}

static bool is_on(const struct job *job, uint32_t node)
{
	for (uint32_t i = 0; i < job->place->ntasks; i++)
		if (job->place->task[i].node == node)
			return true;
	return false;
}

void state_node_free(const struct state *state, uint32_t n, int64_t ret[RES_N],
                     uint32_t *ret_jobs)
{
	const struct node *node = &state->node[n];

	ret[RES_CPU] = node->cpu_milli;
	ret[RES_MEM] = node->mem_mib;
	ret[RES_GPU] = (int64_t)node->ngpus * 1000;
	*ret_jobs = 0;
	for (const struct job *job = state->placed; job; job = job->row_next) {
		if (!is_on(job, n))
			continue;
		add_used(job, n, ret, -1);
		++*ret_jobs;
	}
}

static bool is_below(const struct conf *conf, int queue, uint32_t top)
{
	while (queue >= 0 && (uint32_t)queue != top)
		queue = conf->queues[queue].parent;
	return queue >= 0;
}

void state_queue_used(const struct state *state, uint32_t queue,
                      int64_t ret[RES_N])
{
	memset(ret, 0, RES_N * sizeof(*ret));
	for (const struct job *job = state->placed; job; job = job->row_next)
		if (is_below(state->conf, (int)job->queue, queue))
			add_used(job, -1, ret, 1);
}

/* --- for the runners
 * -------------------------------------------------------------------------- */

void state_run_job(const struct state *state, const struct job *job,
                   struct spec *spec, struct request *req,
                   const char **node_names, struct run_job *ret)
{
	const struct array *array =
	    job->array ? state_array(state, job->array) : NULL;
	const struct placement *p = job->place;

	spec_unpack(spec, job->packed);
	spec_resolve(spec, job->mem_default, req, NULL);
	for (uint32_t i = 0; i < p->ntasks; i++)
		node_names[i] = state->node[p->task[i].node].name;
	*ret = (struct run_job){
		.job = job->id,
		.attempt = job->attempt,
		.array_job = job->array,
		.array_task = job->task,
		.array_count = array ? array->count : 0,
		.array_min = array ? array->min : 0,
		.array_max = array ? array->max : 0,
		.array_step = array ? array->step : 0,
		.restarts = job->restarts + job->preemptions,
		.uid = job->uid,
		.gid = job->gid,
		.user = state->user[job->user].name,
		.spec = spec,
		.req = req,
		.queue = state->conf->queues[job->queue].name,
		.cluster = state->conf->cluster,
		.time_limit = job->time_limit,
		.grace = job->grace,
		.ntasks = p->ntasks,
		.task = p->task,
		.cpu_use = p->cpu_use,
		.node_name = node_names,
		.append = job->restarts + job->preemptions > 0,
	};
}

size_t state_attempts(const struct state *state, uint32_t pool,
                      uint64_t **ret_job, uint32_t **ret_attempt)
{
	size_t n = 0, cap = 0, cap2 = 0;

	*ret_job = NULL;
	*ret_attempt = NULL;
	for (const struct job *job = state->placed; job; job = job->row_next) {
		if (state->node[job->place->task[0].node].pool != pool)
			continue;
		*ret_job = GROW(*ret_job, n, &cap);
		*ret_attempt = GROW(*ret_attempt, n, &cap2);
		(*ret_job)[n] = job->id;
		(*ret_attempt)[n++] = job->attempt;
	}
	return n;
}

/* --- loading
 * -------------------------------------------------------------------------------------
 */

int state_load_job(struct state *state, struct job **taken, const char *depend,
                   const char *place, struct err *err)
{
	struct job *job = *taken;

	*taken = NULL;
	if ((depend && deps_parse(NULL, depend, &job->deps, err) < 0) ||
	    (place && job->state != JOB_PENDING &&
	     !(job->place = state_placement_parse(state, place, err)))) {
		job_free(job);
		return -1;
	}
	state_add_job(state, job);
	if (job->place) {
		job->row_next = state->placed;
		if (state->placed)
			state->placed->row_prev = job;
		state->placed = job;
	}
	return 0;
}

void state_load_array(struct state *state, const struct array *array)
{
	struct array *copy = xmalloc(sizeof(*copy));

	*copy = *array;
	map_set(&state->arrays, copy->id, copy);
}

uint32_t state_load_node(struct state *state, const char *name,
                         const char *pool, bool drained, const char *reason)
{
	int p = conf_pool_find(state->conf, pool);
	uint32_t n = node_intern(state, name, p < 0 ? 0 : (uint32_t)p);

	state->node[n].drained = drained;
	if (reason)
		state->node[n].reason = xstrdup(reason);
	return n;
}

void state_load_queue(struct state *state, const char *name, bool open)
{
	int q = conf_queue_find(state->conf, name);

	if (q >= 0)
		state->queue[q].closed = !open;
}

void state_load_next_id(struct state *state, uint64_t next_id)
{
	state->next_id = next_id;
}

/* Judging may split arrays: walk by what came after, new ones are judged. */
void state_loaded(struct state *state, int64_t now)
{
	struct job *next;

	state_committed(state); /* what was loaded is on disk */
	for (struct job *job = state->placed; job; job = job->row_next)
		if (job->array)
			state_array(state, job->array)->running++;
	for (struct job *job = state->first; job; job = next) {
		next = job->all_next;
		if (job->state == JOB_PENDING) {
			state_arm(state, job);
			deps_begin(state, job, now);
		} else {
			state_alarm(state, job_limit_at(job), job->id);
			state_alarm(state, job->deadline, job->id);
		}
	}
}
