/*
 * plan_check.c - an independent, naive verifier of plans
 *
 * Shares no code with the planner: it takes the plan start by start from
 * plain copies of what is free and complains about the first thing that is
 * not allowed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "aischedd/sched/plan.h"

/* So many of the rows that wait for room are looked at again. */
enum { LOOK_AGAIN = 16 };

struct check {
	const struct snap *s;
	const struct plan *plan;
	struct err *err;
	struct arena *arena;

	int64_t *cpu, *mem, *gpu, *thread; /* free */
	uint32_t *jobs_on, *mine;          /* by node: tasks; of this job */
	uint8_t *closed;                   /* by node: an exclusive job */
	int64_t *license;
	int64_t (*used)[RES_N]; /* by queue and all below it */
	int64_t *jobs;          /* likewise */
	uint32_t *limited;      /* by queue: its row in user_use */
	int64_t (*user_use)[2]; /* jobs and GPUs of each user in it */
	uint32_t *started;      /* by member */
	uint32_t *row_started;  /* by row */
};

static int bad(const struct check *c, uint64_t job, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int bad(const struct check *c, uint64_t job, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(c->err, EINVAL, "plan: job %llu: %s",
	               (unsigned long long)job, text);
}

static int64_t *user_use(const struct check *c, uint32_t queue, uint32_t user)
{
	if (c->limited[queue] == SNAP_NONE)
		return NULL;
	return c->user_use[(size_t)c->limited[queue] * c->s->user.n + user];
}

static void count_job(struct check *c, uint32_t queue, uint32_t user,
                      const int64_t amount[RES_N], bool is_new)
{
	for (; queue != SNAP_NONE; queue = c->s->queue.parent[queue]) {
		int64_t *use = user_use(c, queue, user);

		for (int r = 0; r < RES_N; r++)
			c->used[queue][r] += amount[r];
		c->jobs[queue] += is_new;
		if (use && is_new) {
			use[0]++;
			use[1] += amount[RES_GPU];
		}
	}
}

static void begin_queues(struct check *c)
{
	const struct snap *s = c->s;
	uint32_t n = 0;

	c->used = arena_alloc(c->arena, s->queue.n, sizeof(*c->used));
	c->jobs = arena_array(c->arena, int64_t, s->queue.n);
	c->limited = arena_array(c->arena, uint32_t, s->queue.n);
	for (uint32_t q = 0; q < s->queue.n; q++) {
		c->limited[q] = SNAP_NONE;
		if (s->queue.max_jobs_user[q] != CONF_NONE ||
		    s->queue.max_gpus_user[q] != CONF_NONE)
			c->limited[q] = n++;
	}
	c->user_use =
	    arena_alloc(c->arena, (size_t)n * s->user.n, sizeof(*c->user_use));
}

static void begin_runs(struct check *c)
{
	const struct snap *s = c->s;

	for (uint32_t i = 0; i < s->run.n; i++) {
		uint32_t req = s->run.req[i];
		uint32_t from = s->run.task_first[i];
		uint32_t to = s->run.task_first[i + 1];
		int64_t amount[RES_N] = { 0 };

		amount[RES_CPU] =
		    (to - from) * s->req.cpus[req] * !s->run.suspended[i];
		amount[RES_MEM] = (to - from) * s->req.mem[req];
		amount[RES_GPU] = (to - from) * s->req.gpus[req];
		/* Who leaves for others counts no more. */
		if (!s->run.ending[i])
			count_job(c, s->run.queue[i], s->run.user[i], amount,
			          true);
		for (uint32_t t = from; t < to; t++) {
			c->jobs_on[s->task[t].node]++;
			c->closed[s->task[t].node] |=
			    s->req.exclusive[req] && !s->run.suspended[i];
		}
	}
}

static void begin(struct check *c)
{
	const struct snap *s = c->s;
	uint32_t nmembers = s->pend.n ? s->pend.member_first[s->pend.n] : 0;

	c->cpu = arena_array(c->arena, int64_t, s->node.n);
	c->mem = arena_array(c->arena, int64_t, s->node.n);
	c->gpu = arena_array(c->arena, int64_t, s->gpu.n);
	c->thread = arena_array(c->arena, int64_t, s->cpu.n);
	c->jobs_on = arena_array(c->arena, uint32_t, s->node.n);
	c->mine = arena_array(c->arena, uint32_t, s->node.n);
	c->closed = arena_array(c->arena, uint8_t, s->node.n);
	c->license = arena_array(c->arena, int64_t, s->license.n);
	c->started = arena_array(c->arena, uint32_t, nmembers);
	c->row_started = arena_array(c->arena, uint32_t, s->pend.n);
	for (uint32_t i = 0; i < s->node.n; i++) {
		c->cpu[i] = s->node.cpu_free[i];
		c->mem[i] = s->node.mem_free[i];
	}
	for (uint32_t i = 0; i < s->gpu.n; i++)
		c->gpu[i] = s->gpu.free[i];
	for (uint32_t i = 0; i < s->cpu.n; i++)
		c->thread[i] = s->cpu.free[i];
	for (uint32_t i = 0; i < s->license.n; i++)
		c->license[i] = s->license.free[i];
	begin_queues(c);
	begin_runs(c);
}

static bool among(const uint32_t *list, uint32_t from, uint32_t to, uint32_t x)
{
	for (uint32_t i = from; i < to; i++) {
		if (list[i] == x)
			return true;
	}
	return false;
}

static bool has_word(const struct snap *s, uint32_t node, uint32_t word)
{
	return among(s->feature, s->node.feature_first[node],
	             s->node.feature_first[node + 1], word) ||
	       among(s->taint, s->node.taint_first[node],
	             s->node.taint_first[node + 1], word);
}

/* The value of the rule that ends before *end, which moves to its start. */
static bool rule_value(const struct snap *s, uint32_t node, uint32_t *end)
{
	int32_t item = s->rule[--*end];
	bool a, b;

	if (item >= 0)
		return has_word(s, node, (uint32_t)item);
	b = rule_value(s, node, end);
	if (rule_count(item))
		return true; /* see has_counted() */
	a = rule_value(s, node, end);
	return item == RULE_AND ? a && b : a || b;
}

static const char *forbidden(const struct snap *s, uint32_t req, uint32_t node)
{
	const struct snap_reqs *r = &s->req;
	uint32_t from = r->rule_first[req], to = r->rule_first[req + 1];
	uint32_t end = to;

	if (!(r->pools[req] >> s->node.pool[node] & 1))
		return "not in its pools";
	if (s->node.state[node] != NODE_UP)
		return "not up";
	if (!s->pool.ready[s->node.pool[node]])
		return "its runner is not ready";
	if (s->node.retry_at[node] > s->now)
		return "starts fail there";
	if (from < to && !rule_value(s, node, &end))
		return "does not meet the constraint";
	for (uint32_t i = s->node.taint_first[node];
	     i < s->node.taint_first[node + 1]; i++) {
		bool named = false;

		for (uint32_t k = from; k < to; k++)
			named |= s->rule[k] == (int32_t)s->taint[i];
		if (!named)
			return "tainted";
	}
	if (r->want_first[req] < r->want_first[req + 1] &&
	    !among(s->want, r->want_first[req], r->want_first[req + 1], node))
		return "not in its node list";
	if (among(s->avoid, r->avoid_first[req], r->avoid_first[req + 1], node))
		return "excluded";
	return NULL;
}

static uint32_t domain_at(const struct snap *s, uint32_t node, uint8_t level)
{
	uint32_t d = s->node.domain[node];

	while (d != SNAP_NONE && s->domain.level[d] != level)
		d = s->domain.parent[d];
	return d;
}

/* Whether all tasks are in one domain of the level that the job needs. */
static bool is_together(const struct snap *s, uint32_t req,
                        const struct snap_task *t, uint32_t n)
{
	uint8_t level = s->req.need[req];
	uint32_t domain;

	if (level == LEVEL_NONE)
		return true;
	domain = domain_at(s, t[0].node, level);
	for (uint32_t i = 0; i < n; i++) {
		if (domain_at(s, t[i].node, level) != domain)
			return false;
	}
	return domain != SNAP_NONE;
}

/* Whether so many nodes as each counted part of the constraint says have it;
 * tasks on one node follow each other or not. */
static bool has_counted(const struct snap *s, uint32_t req,
                        const struct snap_task *t, uint32_t n)
{
	for (uint32_t i = s->req.rule_first[req];
	     i < s->req.rule_first[req + 1]; i++) {
		uint32_t have = 0;

		for (uint32_t k = 0; rule_count(s->rule[i]) && k < n; k++) {
			uint32_t end = i;
			bool again = false;

			for (uint32_t j = 0; j < k; j++)
				again |= t[j].node == t[k].node;
			have += !again && rule_value(s, t[k].node, &end);
		}
		if (have < rule_count(s->rule[i]))
			return false;
	}
	return true;
}

/* Whether all devices of a task are in one NUMA node. */
static bool is_aligned(const struct check *c, const struct snap_task *t)
{
	const struct snap *s = c->s;
	const uint8_t *gpu = s->gpu.numa + s->node.gpu_first[t->node];
	const uint8_t *cpu = s->cpu.numa + s->node.cpu_first[t->node];
	int numa = -1;

	for (uint64_t left = t->gpus; left; left &= left - 1) {
		int at = gpu[__builtin_ctzll(left)];

		if (numa >= 0 && at != numa)
			return false;
		numa = at;
	}
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++) {
		int at = cpu[c->plan->cpu_use[i].cpu];

		if (numa >= 0 && at != numa)
			return false;
		numa = at;
	}
	return true;
}

static int take_gpus(struct check *c, uint32_t req, const struct snap_task *t,
                     uint64_t job)
{
	const struct snap *s = c->s;
	int64_t gpus = s->req.gpus[req];
	int64_t each = gpus < 1000 ? gpus : 1000;
	uint32_t first = s->node.gpu_first[t->node];
	uint32_t n = s->node.gpu_first[t->node + 1] - first;

	if (n < 64 && t->gpus >> n)
		return bad(c, job, "has a GPU that %s does not have",
		           s->node.name[t->node]);
	if (__builtin_popcountll(t->gpus) * each != gpus)
		return bad(c, job, "has not the GPUs it asks for");
	if (t->gpus && t->gpu_milli != each)
		return bad(c, job, "has not its part of the GPU");
	for (uint32_t i = 0; i < n; i++) {
		if (!(t->gpus >> i & 1))
			continue;
		if (s->req.gpu_type[req] != SNAP_NONE &&
		    s->gpu.type[first + i] != s->req.gpu_type[req])
			return bad(c, job, "has a GPU of another type");
		c->gpu[first + i] -= each;
		if (c->gpu[first + i] < 0)
			return bad(c, job, "GPU %u of %s is given twice",
			           (unsigned)i, s->node.name[t->node]);
	}
	return 0;
}

static int take_cpus(struct check *c, uint32_t req, const struct snap_task *t,
                     uint64_t job)
{
	const struct snap *s = c->s;
	const char *node = s->node.name[t->node];
	uint32_t first = s->node.cpu_first[t->node];
	uint32_t n = s->node.cpu_first[t->node + 1] - first;
	int64_t whole = 0, part = 0;

	c->cpu[t->node] -= s->req.cpus[req];
	if (s->req.cpus[req] && c->cpu[t->node] < 0)
		return bad(c, job, "CPUs of %s are given twice", node);
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++) {
		const struct snap_cpu_use *use = &c->plan->cpu_use[i];

		if (use->cpu >= n)
			return bad(c, job, "%s has no CPU %u", node,
			           (unsigned)use->cpu);
		c->thread[first + use->cpu] -= use->milli;
		if (c->thread[first + use->cpu] < 0)
			return bad(c, job, "CPU %u of %s is given twice",
			           (unsigned)use->cpu, node);
		whole += use->milli == 1000;
		part += use->milli % 1000;
	}
	if (n && (whole != s->req.cpus[req] / 1000 ||
	          part != s->req.cpus[req] % 1000))
		return bad(c, job, "has not the CPUs it asks for");
	return 0;
}

static int take_task(struct check *c, uint32_t req, const struct snap_task *t,
                     uint64_t job)
{
	const struct snap *s = c->s;
	const char *why = forbidden(s, req, t->node);

	if (why)
		return bad(c, job, "starts on %s: %s", s->node.name[t->node],
		           why);
	c->mem[t->node] -= s->req.mem[req];
	if (s->req.mem[req] && c->mem[t->node] < 0)
		return bad(c, job, "memory of %s is given twice",
		           s->node.name[t->node]);
	if (take_gpus(c, req, t, job) < 0 || take_cpus(c, req, t, job) < 0)
		return -1;
	if (s->req.numa[req] == NUMA_STRICT && !is_aligned(c, t))
		return bad(c, job, "is in two NUMA nodes of %s",
		           s->node.name[t->node]);
	return 0;
}

/* The tasks on each node, once all are placed. */
static int check_spread(struct check *c, uint32_t req,
                        const struct snap_task *t, uint32_t n, uint64_t job)
{
	const struct snap *s = c->s;
	uint32_t nodes = 0, most = 0;
	int status = 0;

	for (uint32_t i = 0; i < n; i++) {
		nodes += c->mine[t[i].node] == 0;
		c->mine[t[i].node]++;
		if (c->mine[t[i].node] > most)
			most = c->mine[t[i].node];
		if (s->node.pool[t[i].node] != s->node.pool[t[0].node])
			status = bad(c, job, "is in two pools");
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = t[i].node;

		if (c->closed[node] ||
		    (s->req.exclusive[req] && c->jobs_on[node]))
			status = bad(c, job, "%s is not for two",
			             s->node.name[node]);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = t[i].node;

		c->jobs_on[node] += c->mine[node];
		c->mine[node] = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		c->closed[t[i].node] |= s->req.exclusive[req];
	if (s->req.nodes[req] && nodes != s->req.nodes[req])
		return bad(c, job, "is on %u nodes", (unsigned)nodes);
	if (s->req.tasks_per_node[req] && most > s->req.tasks_per_node[req])
		return bad(c, job, "has %u tasks on one node", (unsigned)most);
	if (!is_together(s, req, t, n))
		return bad(c, job, "is not in one %s",
		           s->level[s->req.need[req]]);
	if (!has_counted(s, req, t, n))
		return bad(c, job, "has too few nodes of some kind");
	return status;
}

/* A suspended job keeps what it has and gets its CPUs again. */
static int check_resume(struct check *c, uint32_t run,
                        const struct snap_task *t, uint32_t n, uint64_t job)
{
	const struct snap *s = c->s;
	const struct snap_task *had = s->task + s->run.task_first[run];
	uint32_t req = s->run.req[run];

	if (n != s->run.task_first[run + 1] - s->run.task_first[run])
		return bad(c, job, "goes on with %u tasks", (unsigned)n);
	for (uint32_t i = 0; i < n; i++) {
		if (t[i].node != had[i].node || t[i].gpus != had[i].gpus ||
		    t[i].gpu_milli != had[i].gpu_milli)
			return bad(c, job, "goes on elsewhere");
		if (s->node.state[t[i].node] == NODE_DOWN ||
		    !s->pool.ready[s->node.pool[t[i].node]] ||
		    c->closed[t[i].node])
			return bad(c, job, "cannot go on on %s",
			           s->node.name[t[i].node]);
		c->mine[t[i].node]++;
		if (take_cpus(c, req, &t[i], job) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = t[i].node;

		if (s->req.exclusive[req] && c->mine[node] &&
		    c->jobs_on[node] != c->mine[node])
			return bad(c, job, "%s is not for two",
			           s->node.name[node]);
		c->mine[node] = 0;
		c->closed[node] |= s->req.exclusive[req];
	}
	return 0;
}

static int check_limits(struct check *c, uint32_t row, uint64_t job)
{
	const struct snap *s = c->s;
	uint32_t req = s->pend.req[row], run = s->pend.resumes[row];
	int64_t n = s->req.min_tasks[req];
	int64_t amount[RES_N] = { 0 };

	if (run != SNAP_NONE)
		n = s->run.task_first[run + 1] - s->run.task_first[run];
	amount[RES_CPU] = n * s->req.cpus[req];
	if (run == SNAP_NONE) {
		amount[RES_MEM] = n * s->req.mem[req];
		amount[RES_GPU] = n * s->req.gpus[req];
	}
	count_job(c, s->pend.queue[row], s->pend.user[row], amount,
	          run == SNAP_NONE);
	for (uint32_t q = s->pend.queue[row]; q != SNAP_NONE;
	     q = s->queue.parent[q]) {
		const int64_t *use = user_use(c, q, s->pend.user[row]);
		const char *name = s->queue.name[q];
		int64_t gpus = s->queue.max_gpus_user[q];

		for (int r = 0; r < RES_N; r++) {
			if (s->queue.limit[q][r] != CONF_NONE && amount[r] &&
			    c->used[q][r] > s->queue.limit[q][r])
				return bad(c, job,
				           "queue '%s' is over its "
				           "limit",
				           name);
		}
		if (run != SNAP_NONE)
			continue;
		if (s->queue.max_jobs[q] != CONF_NONE &&
		    c->jobs[q] > s->queue.max_jobs[q])
			return bad(c, job, "queue '%s' runs too many jobs",
			           name);
		if (use && s->queue.max_jobs_user[q] != CONF_NONE &&
		    use[0] > s->queue.max_jobs_user[q])
			return bad(c, job, "its user runs too many in '%s'",
			           name);
		if (use && gpus != CONF_NONE && amount[RES_GPU] &&
		    use[1] > gpus)
			return bad(c, job, "its user has too many GPUs in '%s'",
			           name);
	}
	return 0;
}

static int take_licenses(struct check *c, uint32_t req, uint64_t job)
{
	const struct snap *s = c->s;

	for (uint32_t i = s->req.license_first[req];
	     i < s->req.license_first[req + 1]; i++) {
		const struct snap_license_use *use = &s->license_use[i];

		c->license[use->license] -= use->count;
		if (use->count && c->license[use->license] < 0)
			return bad(c, job, "licence '%s' is given twice",
			           s->license.name[use->license]);
	}
	return 0;
}

static int check_start(struct check *c, const struct start *start)
{
	const struct snap *s = c->s;
	uint32_t row = start->row, m = start->member, req;
	const struct snap_task *t = c->plan->task + start->task_first;
	uint64_t job;

	if (row >= s->pend.n || m < s->pend.member_first[row] ||
	    m >= s->pend.member_first[row + 1])
		return err_set(c->err, EINVAL, "plan: start of nobody");
	req = s->pend.req[row];
	job = s->member[m].job;
	c->row_started[row]++;
	c->started[m]++;
	if (c->started[m] > s->member[m].count ||
	    c->started[m] > s->member[m].room)
		return bad(c, job, "starts too often");
	for (uint32_t i = 0; i < start->ntasks; i++) {
		if (t[i].node >= s->node.n ||
		    t[i + 1].cpu_first < t[i].cpu_first)
			return bad(c, job, "has a task nowhere");
	}
	if (check_limits(c, row, job) < 0)
		return -1;
	if (s->pend.resumes[row] != SNAP_NONE)
		return check_resume(c, s->pend.resumes[row], t, start->ntasks,
		                    job);
	if (start->ntasks != s->req.min_tasks[req])
		return bad(c, job, "starts with %u tasks",
		           (unsigned)start->ntasks);
	for (uint32_t i = 0; i < start->ntasks; i++) {
		if (take_task(c, req, &t[i], job) < 0)
			return -1;
	}
	if (check_spread(c, req, t, start->ntasks, job) < 0)
		return -1;
	return take_licenses(c, req, job);
}

/* Starts share no tasks. */
static int check_order(struct check *c)
{
	const struct snap *s = c->s;
	const struct start *start = c->plan->start;
	uint32_t next_task = 0;

	for (uint32_t i = 0; i < c->plan->nstarts; i++) {
		if (start[i].task_first < next_task)
			return bad(c, s->member[start[i].member].job,
			           "shares tasks with another");
		next_task = start[i].task_first + start[i].ntasks;
	}
	return 0;
}

/* Whether n tasks fit on the node as it is at the end of the plan. */
static bool tasks_fit(const struct check *c, uint32_t req, uint32_t node,
                      int64_t n)
{
	const struct snap *s = c->s;
	int64_t gpus = s->req.gpus[req], cpus = s->req.cpus[req];
	int64_t whole = 0, parts = 0, idle = 0, shares = 0;
	int64_t part = cpus % 1000, broken = 0;

	if ((cpus && c->cpu[node] < n * cpus) ||
	    (s->req.mem[req] && c->mem[node] < n * s->req.mem[req]) ||
	    (gpus > 1000 && gpus % 1000))
		return false;
	for (uint32_t i = s->node.gpu_first[node];
	     gpus && i < s->node.gpu_first[node + 1]; i++) {
		if (s->req.gpu_type[req] != SNAP_NONE &&
		    s->gpu.type[i] != s->req.gpu_type[req])
			continue;
		whole += c->gpu[i] == 1000;
		parts += c->gpu[i] / gpus;
	}
	if (gpus >= 1000 ? whole < n * (gpus / 1000) : gpus && parts < n)
		return false;
	for (uint32_t i = s->node.cpu_first[node];
	     i < s->node.cpu_first[node + 1]; i++) {
		idle += c->thread[i] == 1000;
		shares += part && c->thread[i] < 1000 ? c->thread[i] / part : 0;
	}
	/* Parts that find no shared CPU break idle ones. */
	while (part && shares + broken * (1000 / part) < n)
		broken++;
	return s->node.cpu_first[node] == s->node.cpu_first[node + 1] ||
	       idle >= n * (cpus / 1000) + broken;
}

/* How many tasks of the request fit on the node, were there nobody else. */
static uint32_t room_on(const struct check *c, uint32_t req, uint32_t node)
{
	const struct snap *s = c->s;
	uint32_t n = 0, most = s->req.min_tasks[req];

	if (s->req.tasks_per_node[req] && s->req.tasks_per_node[req] < most)
		most = s->req.tasks_per_node[req];
	if (forbidden(s, req, node) || c->closed[node] ||
	    (s->req.exclusive[req] && c->jobs_on[node]))
		return 0;
	while (n < most && tasks_fit(c, req, node, n + 1))
		n++;
	return n;
}

/* Whether the whole job fits in a pool, in one domain (SNAP_NONE: of none in
 * particular): on any nodes, or on the best if their number is given. */
static bool job_fits(const struct check *c, uint32_t req, uint32_t pool,
                     uint32_t domain)
{
	const struct snap *s = c->s;
	uint32_t nodes = s->req.nodes[req], n = 0, total = 0;
	uint32_t *room = arena_array(c->arena, uint32_t, s->node.n + 1);

	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->node.pool[i] == pool &&
		    (domain == SNAP_NONE ||
		     domain_at(s, i, s->domain.level[domain]) == domain))
			room[i] = room_on(c, req, i);
	}
	while (n < (nodes ? nodes : s->node.n)) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < s->node.n; i++) {
			if (room[i] > room[best])
				best = i;
		}
		if (!s->node.n || !room[best])
			break;
		total += room[best];
		room[best] = 0;
		n++;
		if (!nodes && total >= s->req.min_tasks[req])
			break;
	}
	return total >= s->req.min_tasks[req] && n >= nodes;
}

static bool job_fits_somewhere(const struct check *c, uint32_t req,
                               uint32_t pool)
{
	const struct snap *s = c->s;

	if (s->req.need[req] == LEVEL_NONE)
		return job_fits(c, req, pool, SNAP_NONE);
	for (uint32_t d = 0; d < s->domain.n; d++) {
		if (s->domain.level[d] == s->req.need[req] &&
		    job_fits(c, req, pool, d))
			return true;
	}
	return false;
}

/* Whether room_on() knows all that the request says of nodes. */
static bool is_plain(const struct snap *s, uint32_t req)
{
	bool counts = false;

	for (uint32_t i = s->req.rule_first[req];
	     i < s->req.rule_first[req + 1]; i++)
		counts |= rule_count(s->rule[i]) > 0;
	return !counts && s->req.numa[req] != NUMA_STRICT;
}

static bool waits_for_room(const struct verdict *v)
{
	return v->why == WHY_Topology || v->why == WHY_Resources ||
	       v->why == WHY_Fragmentation || v->why == WHY_GangPartial;
}

/* Whoever is said to wait for room must not fit. */
static int check_waits(struct check *c)
{
	const struct snap *s = c->s;
	uint32_t looked_at = 0;

	for (uint32_t row = 0; row < s->pend.n && looked_at < LOOK_AGAIN;
	     row++) {
		uint64_t job = s->member[s->pend.member_first[row]].job;

		if (!waits_for_room(&c->plan->verdict[row]) ||
		    s->pend.resumes[row] != SNAP_NONE)
			continue;
		looked_at++;
		for (uint32_t pool = 0; pool < s->pool.n; pool++) {
			if (is_plain(s, s->pend.req[row]) &&
			    job_fits_somewhere(c, s->pend.req[row], pool))
				return bad(c, job, "waits but fits in '%s'",
				           s->pool.name[pool]);
		}
	}
	return 0;
}

static int check_verdicts(struct check *c)
{
	const struct snap *s = c->s;

	for (uint32_t row = 0; row < s->pend.n; row++) {
		const struct verdict *v = &c->plan->verdict[row];
		uint32_t first = s->pend.member_first[row];
		uint64_t job = s->member[first].job, count = 0;

		for (uint32_t m = first; m < s->pend.member_first[row + 1]; m++)
			count += s->member[m].count;
		if (v->started != c->row_started[row])
			return bad(c, job, "its row counts other starts");
		if ((v->why == WHY_None) != (v->started == count))
			return bad(c, job, "starts, or waits without reason");
		if (v->why != WHY_None &&
		    (!reason_is_pending(v->why) ||
		     (!v->position && v->why != WHY_Preempting)))
			return bad(c, job, "waits for no reason there is");
		if (v->expected != SNAP_NEVER && v->expected < s->now)
			return bad(c, job, "is expected in the past");
	}
	return c->plan->nclaims ? 0 : check_waits(c);
}

int plan_check(const struct snap *snap, const struct plan *plan,
               struct err *err)
{
	struct check c = { .s = snap, .plan = plan, .err = err };
	int status = 0;

	if (plan->gen != snap->gen || plan->nverdicts != snap->pend.n)
		return err_set(err, EINVAL, "plan: not of this snapshot");
	c.arena = arena_new();
	begin(&c);
	for (uint32_t i = 0; status == 0 && i < plan->nstarts; i++)
		status = check_start(&c, &plan->start[i]);
	if (status == 0)
		status = check_order(&c);
	if (status == 0)
		status = check_verdicts(&c);
	arena_free(c.arena);
	return status;
}
