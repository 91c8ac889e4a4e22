/*
 * plan_check.c - an independent, naive verifier of plans
 *
 * Shares no code with the planner. Subtracts start after start from plain
 * copies of what is free, and reports the first thing that is not allowed.
 */
#include <string.h>

#include "aischedd/sched/check/plan_check.h"

#include "aischedd/sched/check/align.h"
#include "aischedd/sched/check/amounts.h"
#include "aischedd/sched/check/audit.h"
#include "aischedd/sched/check/lists.h"
#include "aischedd/sched/check/near.h"
#include "aischedd/sched/check/nodes.h"
#include "aischedd/sched/check/slices.h"

/* At most this many rows that wait for resources are checked, and at most this
 * many starts are checked for a better node. */
enum { LOOK_AGAIN = 16 };

struct check {
	const struct audit *audit;
	const struct snap *s;
	const struct plan *plan;
	struct arena *arena;

	/* the amounts that are still free */
	int64_t *dev;   /* by node and kind */
	uint8_t *taken; /* by piece: how many tasks have it */
	int64_t *cpu, *mem, *tmp, *slot, *gpu, *thread, *numa_mem;
	uint8_t *slices;  /* by GPU: its slices in use */
	int64_t *unbound; /* by NUMA node: its memory minus that of tasks bound
	                     to it */
	uint32_t *jobs_on, *mine; /* by node: tasks of all jobs; tasks of the
	                             job being checked */
	uint8_t *closed;          /* by node: 1 if an exclusive job is there */
	uint32_t *row_started;    /* by row: jobs that the plan starts */
	/* 1: a start that was already checked has more tasks than its minimum.
	 * The planner added the tasks above the minimum after later starts. So
	 * check the memory of later starts only beside bound tasks. */
	bool grew;
	uint32_t wishes; /* how many starts were checked for a better node */
	bool weighed;    /* nodes have different weights */
};

static void begin_runs(struct check *c)
{
	const struct snap *s = c->s;

	for (uint32_t i = 0; i < s->run.n; i++) {
		uint32_t req = s->run.req[i];
		for (uint32_t t = s->run.task_first[i];
		     t < s->run.task_first[i + 1]; t++) {
			c->jobs_on[s->task[t].node]++;
			c->closed[s->task[t].node] |=
			    s->req.exclusive[req] && !s->run.suspended[i];
		}
	}
}

static void begin(struct check *c)
{
	const struct snap *s = c->s;
	struct check_amounts now = check_amounts_now(s, c->arena);

	c->cpu = arena_array(c->arena, int64_t, s->node.n);
	c->mem = arena_array(c->arena, int64_t, s->node.n);
	c->tmp = arena_array(c->arena, int64_t, s->node.n);
	c->slot = arena_array(c->arena, int64_t, s->node.n);
	c->dev = check_amounts_devs(s, c->arena);
	c->taken = check_near_taken(s, c->arena);
	c->gpu = now.gpu;
	c->thread = now.thread;
	c->numa_mem = now.numa_mem;
	c->unbound = now.unbound;
	c->slices = now.slices;
	c->jobs_on = arena_array(c->arena, uint32_t, s->node.n);
	c->mine = arena_array(c->arena, uint32_t, s->node.n);
	c->closed = arena_array(c->arena, uint8_t, s->node.n);
	c->row_started = arena_array(c->arena, uint32_t, s->pend.n);
	for (uint32_t i = 0; i < s->node.n; i++) {
		c->cpu[i] = s->node.cpu_free[i];
		c->mem[i] = s->node.mem_free[i];
		c->tmp[i] = s->node.tmp_free[i];
		c->slot[i] = s->node.slot_free[i];
		c->weighed |= s->node.weight[i] != s->node.weight[0];
	}
	begin_runs(c);
}

static struct sliced slices_of(const struct check *c, uint32_t node,
                               uint32_t gpu)
{
	return (struct sliced){ c->s->node.mig[node], c->slices[gpu],
		                c->gpu[gpu],
		                c->s->gpu.parts ? c->s->gpu.parts[gpu] : 0 };
}

/* Subtract a task's part of a GPU. Check that each GPU is used either whole, or
 * by fractions, or by partitions that do not overlap. */
static int take_slices(struct check *c, uint32_t req, const struct snap_task *t,
                       uint32_t gpu, uint64_t job)
{
	const struct snap *s = c->s;
	uint8_t profile = s->req.profile[req];
	struct sliced g = slices_of(c, t->node, gpu);

	if (profile ? !check_slices_fit(&g, profile, t->units)
	            : t->units || !check_slices_whole(g.parts) ||
	                  (g.used && s->req.gpus[req] < 1000))
		return check_bad(c->audit, job,
		                 "has not a partition that is free on GPU %u "
		                 "of %s",
		                 (unsigned)(gpu - s->node.gpu_first[t->node]),
		                 s->node.name[t->node]);
	c->slices[gpu] |= t->units;
	return 0;
}

static int take_gpus(struct check *c, uint32_t req, const struct snap_task *t,
                     uint64_t job)
{
	const struct snap *s = c->s;
	int64_t gpus = check_gpus(s, req, t->node);
	int64_t each = gpus < 1000 ? gpus : 1000;
	uint32_t first = s->node.gpu_first[t->node];
	uint32_t n = s->node.gpu_first[t->node + 1] - first;

	if (n < 64 && t->gpus >> n)
		return check_bad(c->audit, job,
		                 "has a GPU that %s does not have",
		                 s->node.name[t->node]);
	if (__builtin_popcountll(t->gpus) * each != gpus)
		return check_bad(c->audit, job, "has not the GPUs it asks for");
	if (t->gpus && t->gpu_milli != each)
		return check_bad(c->audit, job, "has not its part of the GPU");
	for (uint32_t i = 0; i < n; i++) {
		if (!(t->gpus >> i & 1))
			continue;
		if (s->req.gpu_type[req] != SNAP_NONE &&
		    s->gpu.type[first + i] != s->req.gpu_type[req])
			return check_bad(c->audit, job,
			                 "has a GPU of another type");
		if (take_slices(c, req, t, first + i, job) < 0)
			return -1;
		c->gpu[first + i] -= each;
		if (c->gpu[first + i] < 0)
			return check_bad(c->audit, job,
			                 "GPU %u of %s is given twice",
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
		return check_bad(c->audit, job, "CPUs of %s are given twice",
		                 node);
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++) {
		const struct snap_cpu_use *use = &c->plan->cpu_use[i];

		if (use->cpu >= n)
			return check_bad(c->audit, job, "%s has no CPU %u",
			                 node, (unsigned)use->cpu);
		c->thread[first + use->cpu] -= use->milli;
		if (c->thread[first + use->cpu] < 0)
			return check_bad(c->audit, job,
			                 "CPU %u of %s is given twice",
			                 (unsigned)use->cpu, node);
		whole += use->milli == 1000;
		part += use->milli % 1000;
	}
	if (n && (whole != s->req.cpus[req] / 1000 ||
	          part != s->req.cpus[req] % 1000))
		return check_bad(c->audit, job, "has not the CPUs it asks for");
	return 0;
}

static int take_devs(struct check *c, uint32_t req, const struct snap_task *t,
                     uint64_t job)
{
	const struct snap *s = c->s;

	for (uint32_t i = 0; i < s->dev.n; i++) {
		int64_t *left = &c->dev[t->node * s->dev.n + i];
		int64_t need = s->req.devs[req].n[i];

		*left -= need;
		if (need && *left < 0)
			return check_bad(c->audit, job,
			                 "%s of %s is given twice",
			                 s->dev.name[i], s->node.name[t->node]);
	}
	return 0;
}

static int take_task(struct check *c, uint32_t req, const struct snap_task *t,
                     uint64_t job, bool bound_only)
{
	const struct snap *s = c->s;
	c->mem[t->node] -= s->req.mem[req];
	if (s->req.mem[req] && c->mem[t->node] < 0)
		return check_bad(c->audit, job, "memory of %s is given twice",
		                 s->node.name[t->node]);
	c->tmp[t->node] -= s->req.tmp[req];
	if (s->req.tmp[req] && c->tmp[t->node] < 0)
		return check_bad(c->audit, job, "disk of %s is given twice",
		                 s->node.name[t->node]);
	if (--c->slot[t->node] < 0)
		return check_bad(c->audit, job, "is one task too many on %s",
		                 s->node.name[t->node]);
	if (take_devs(c, req, t, job) < 0 ||
	    check_near_task(c->audit, req, job, t, c->taken) < 0 ||
	    take_gpus(c, req, t, job) < 0 || take_cpus(c, req, t, job) < 0)
		return -1;
	return check_align_task(c->audit, req, job, t, bound_only, c->numa_mem,
	                        c->unbound);
}

/* Count the tasks on their nodes. Check that no other job is on the nodes of an
 * exclusive job. */
static int check_alone(struct check *c, uint32_t req, const struct snap_task *t,
                       uint32_t n, uint64_t job)
{
	const struct snap *s = c->s;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = t[i].node;

		if (c->closed[node] ||
		    (s->req.exclusive[req] && c->jobs_on[node]))
			return check_bad(c->audit, job, "%s is not for two",
			                 s->node.name[node]);
	}
	for (uint32_t i = 0; i < n; i++) {
		c->jobs_on[t[i].node]++;
		c->closed[t[i].node] |= s->req.exclusive[req];
	}
	return 0;
}

/* Whether enough CPUs for a task are free in these NUMA nodes. */
static bool has_cpus(const struct check *c, uint32_t req, uint32_t node,
                     uint32_t numas)
{
	const struct snap *s = c->s;
	int64_t part = s->req.cpus[req] % 1000, idle = 0;
	bool shares = false;

	for (uint32_t i = s->node.cpu_first[node];
	     i < s->node.cpu_first[node + 1]; i++) {
		if (!(numas >> s->cpu.numa[i] & 1))
			continue;
		idle += c->thread[i] == 1000;
		shares |= c->thread[i] >= part && c->thread[i] < 1000;
	}
	return idle >= s->req.cpus[req] / 1000 + (part && !shares);
}

/* Whether a resumed task wrongly gets CPUs outside its old NUMA nodes, where
 * its memory is. A task that is bound to its NUMA nodes must not get such CPUs.
 * Any other task may get them if too few CPUs are free in its old NUMA nodes.
 * Tasks that are not bound are checked only if the plan has no growth and no
 * claims, because these may have taken the CPUs first. */
static bool strays(const struct check *c, uint32_t req,
                   const struct snap_task *had, const struct snap_task *t)
{
	uint32_t numas =
	    check_align_numas(c->s, had, c->s->cpu_use) | had->numas;

	if (!numas || !(check_align_numas(c->s, t, c->plan->cpu_use) & ~numas))
		return false;
	return snap_binds(c->s, req) ||
	       (!c->plan->ngrows && !c->plan->nclaims &&
	        has_cpus(c, req, t->node, numas));
}

/* Check the start of a suspended job: it keeps its memory and GPUs, and gets
 * CPUs again. */
static int check_resume(struct check *c, uint32_t run,
                        const struct snap_task *t, uint32_t n, uint64_t job)
{
	const struct snap *s = c->s;
	const struct snap_task *had = s->task + s->run.task_first[run];
	uint32_t req = s->run.req[run];

	if (n != s->run.task_first[run + 1] - s->run.task_first[run])
		return check_bad(c->audit, job, "goes on with %u tasks",
		                 (unsigned)n);
	for (uint32_t i = 0; i < n; i++) {
		if (t[i].node != had[i].node || t[i].gpus != had[i].gpus ||
		    t[i].gpu_milli != had[i].gpu_milli ||
		    t[i].units != had[i].units || t[i].numas != had[i].numas)
			return check_bad(c->audit, job, "goes on elsewhere");
		if (strays(c, req, &had[i], &t[i]))
			return check_bad(c->audit, job,
			                 "goes on in NUMA nodes of %s that it "
			                 "did not have",
			                 s->node.name[t[i].node]);
		if (s->node.state[t[i].node] == NODE_DOWN ||
		    !s->pool.ready[s->node.pool[t[i].node]] ||
		    c->closed[t[i].node])
			return check_bad(c->audit, job, "cannot go on on %s",
			                 s->node.name[t[i].node]);
		c->mine[t[i].node]++;
		if (take_cpus(c, req, &t[i], job) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = t[i].node;

		if (s->req.exclusive[req] && c->mine[node] &&
		    c->jobs_on[node] != c->mine[node])
			return check_bad(c->audit, job, "%s is not for two",
			                 s->node.name[node]);
		c->mine[node] = 0;
		c->closed[node] |= s->req.exclusive[req];
	}
	return 0;
}

/* Subtract what each task holds from what is free. */
static int take_tasks(struct check *c, uint32_t req, const struct snap_task *t,
                      uint32_t n, uint64_t job, bool bound_only)
{
	for (uint32_t i = 0; i < n; i++) {
		if (take_task(c, req, &t[i], job, bound_only) < 0)
			return -1;
	}
	return 0;
}

/* Returns how many fractions or partitions of the requested size fit on a GPU.
 */
static int64_t parts_on(const struct check *c, uint32_t req, uint32_t node,
                        uint32_t gpu)
{
	struct sliced g = slices_of(c, node, gpu);

	if (c->s->req.profile[req])
		return check_slices_count(&g, c->s->req.profile[req]);
	return g.used ? 0 : c->gpu[gpu] / check_gpus(c->s, req, node);
}

/* Whether n tasks fit on the node beside all tasks that the check has
 * subtracted so far. */
static bool tasks_fit(const struct check *c, uint32_t req, uint32_t node,
                      int64_t n)
{
	const struct snap *s = c->s;
	int64_t gpus = s->req.gpus[req], cpus = s->req.cpus[req];
	int64_t whole = 0, parts = 0, idle = 0, shares = 0;
	int64_t part = cpus % 1000, broken = 0;

	if ((cpus && c->cpu[node] < n * cpus) ||
	    (s->req.mem[req] && c->mem[node] < n * s->req.mem[req]) ||
	    (s->req.tmp[req] && c->tmp[node] < n * s->req.tmp[req]) ||
	    c->slot[node] < n || (gpus > 1000 && gpus % 1000))
		return false;
	for (uint32_t i = 0; i < s->dev.n; i++) {
		int64_t need = n * s->req.devs[req].n[i];

		if (need && c->dev[node * s->dev.n + i] < need)
			return false;
	}
	for (uint32_t i = s->node.gpu_first[node];
	     gpus && i < s->node.gpu_first[node + 1]; i++) {
		if (s->req.gpu_type[req] != SNAP_NONE &&
		    s->gpu.type[i] != s->req.gpu_type[req])
			continue;
		if (!check_slices_may(s, req, node, i))
			continue;
		whole += c->gpu[i] == 1000;
		parts += parts_on(c, req, node, i);
	}
	if (gpus >= 1000 ? whole < n * (gpus / 1000) : gpus && parts < n)
		return false;
	for (uint32_t i = s->node.cpu_first[node];
	     i < s->node.cpu_first[node + 1]; i++) {
		idle += c->thread[i] == 1000;
		shares += part && c->thread[i] < 1000 ? c->thread[i] / part : 0;
	}
	/* Fractions that do not fit on shared CPUs take idle CPUs. */
	while (part && shares + broken * (1000 / part) < n)
		broken++;
	return s->node.cpu_first[node] == s->node.cpu_first[node + 1] ||
	       idle >= n * (cpus / 1000) + broken;
}

/* Whether a job that had fewer tasks than its minimum grows. The planner placed
 * its tasks before all starts, which are checked first. */
static bool is_restored(const struct check *c)
{
	const struct snap *s = c->s;

	for (uint32_t i = 0; i < c->plan->ngrows; i++) {
		uint32_t run = c->plan->grow[i].run;

		if (snap_run_ntasks(s, run) < s->req.min_tasks[s->run.req[run]])
			return true;
	}
	return false;
}

/* Whether nothing is held for other jobs, so that a job could have started on
 * any node on which it fits. */
static bool can_judge_wishes(const struct check *c)
{
	const struct snap *s = c->s;

	if (c->plan->nclaims || s->npromises || s->resv.n ||
	    s->pend.claim_first[s->pend.n] || is_restored(c))
		return false;
	for (uint32_t row = 0; row < c->plan->nverdicts; row++) {
		const struct verdict *v = &c->plan->verdict[row];
		uint32_t first = s->pend.member_first[row];

		if (v->why == WHY_Priority || v->expected != SNAP_NEVER)
			return false;
		/* This waiting job may hold back the jobs behind it. */
		if (v->why != WHY_None &&
		    (!s->policy.backfill || s->member[first].since < s->now))
			return false;
	}
	return true;
}

/* Returns how far a task falls short of what its job prefers: in the high 32
 * bits how many NUMA nodes it has above the fewest, in the low 32 bits how many
 * link groups above the fewest. */
static uint64_t excess_of(const struct snap *s, uint32_t req, uint32_t node,
                          uint32_t numas, uint32_t groups)
{
	uint32_t span = check_align_span(s, req, node);
	uint32_t least = check_align_groups(
	    s, req, node, (uint32_t)(s->req.gpus[req] / 1000));
	bool cares = s->req.links[req] != LINKS_ANY;

	span = span ? span : 1; /* 0: no NUMA nodes have as much as it needs */
	if (s->req.numa[req] == NUMA_ANY || numas < span)
		numas = span; /* a task without devices is in no NUMA node */
	return (uint64_t)(numas - span) << 32 | (cares ? groups - least : 0);
}

/* Whether a task of the request certainly fits on the node, beside the starts
 * so far. */
static bool could_use(const struct check *c, uint32_t req, uint32_t node)
{
	return !c->closed[node] && !check_forbidden(c->s, req, node) &&
	       tasks_fit(c, req, node, 1);
}

/* Whether node a is preferred to node b: it meets more important preferences
 * or, if both meet the same, it has less weight. */
static bool is_dearer(const struct snap *s, uint32_t req, uint32_t a,
                      uint32_t b)
{
	uint32_t x = check_granted(s, req, a), y = check_granted(s, req, b);

	return x > y || (x == y && s->node.weight[a] < s->node.weight[b]);
}

/* Whether the nodes form more tiers for the request than the
 * planner distinguishes. */
static bool has_many_tiers(const struct snap *s, uint32_t req)
{
	uint32_t tier[SNAP_MOST_TIERS], n = 0, k;

	for (uint32_t i = 0; i < s->node.n; i++) {
		for (k = 0; k < n; k++) {
			if (!is_dearer(s, req, i, tier[k]) &&
			    !is_dearer(s, req, tier[k], i))
				break;
		}
		if (k == SNAP_MOST_TIERS)
			return true;
		if (k == n)
			tier[n++] = i;
	}
	return false;
}

/* Check that a job of one task does not start on a node if it could use a node
 * that it prefers. Called before the task's resources are subtracted. */
static int check_prefer(struct check *c, uint32_t req, uint32_t node,
                        uint64_t job)
{
	const struct snap *s = c->s;
	struct align_free nfree = { c->gpu, c->thread, c->numa_mem, c->taken };

	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->node.pool[i] != s->node.pool[node] ||
		    !is_dearer(s, req, i, node) || !could_use(c, req, i) ||
		    (check_align_demands(s, req) &&
		     !check_align_best(s, req, i, &nfree).fits))
			continue;
		return check_bad(c->audit, job, "is on %s though it prefers %s",
		                 s->node.name[node], s->node.name[i]);
	}
	return 0;
}

/* Check that the task could not have had fewer NUMA nodes or link groups on
 * another node that its job prefers as much. Called before the task's resources
 * are subtracted. */
static int check_wish(struct check *c, uint32_t req, const struct snap_task *t,
                      uint64_t job)
{
	const struct snap *s = c->s;
	struct align_free nfree = { c->gpu, c->thread, c->numa_mem, c->taken };
	uint32_t numas, groups, node = t->node, level = s->req.need[req];
	uint64_t has;

	if ((s->req.gpus[req] < 1000 && s->req.numa[req] != NUMA_PREFER) ||
	    !check_align_best(s, req, node, &nfree).known)
		return 0;
	numas = (uint32_t)__builtin_popcount(
	    check_align_numas(s, t, c->plan->cpu_use) |
	    (s->req.mem[req] ? t->numas : 0));
	groups = check_align_links(s, node, t->gpus);
	has = excess_of(s, req, node, numas, groups);
	for (uint32_t i = 0; has && i < s->node.n; i++) {
		struct align_best best;

		if (s->node.pool[i] != s->node.pool[node] ||
		    !could_use(c, req, i) || is_dearer(s, req, node, i) ||
		    (level != LEVEL_NONE &&
		     check_domain(s, i, (uint8_t)level) !=
		         check_domain(s, node, (uint8_t)level)))
			continue;
		best = check_align_best(s, req, i, &nfree);
		if (best.known && best.fits &&
		    excess_of(s, req, i, best.numas, best.groups) < has)
			return check_bad(c->audit, job,
			                 "is on %s though %s is better for "
			                 "what it wishes",
			                 s->node.name[node], s->node.name[i]);
	}
	return 0;
}

static int check_choice(struct check *c, uint32_t req,
                        const struct start *start, uint64_t job)
{
	const struct snap_reqs *r = &c->s->req;
	const struct snap_task *t = c->plan->task + start->task_first;
	bool wishes = r->gpus[req] >= 1000 || r->numa[req] == NUMA_PREFER ||
	              r->prefer_first[req] < r->prefer_first[req + 1] ||
	              c->s->node.taint_first[c->s->node.n] || c->weighed;

	if (!wishes || start->ntasks != 1 || r->exclusive[req] ||
	    c->wishes == LOOK_AGAIN || !can_judge_wishes(c) ||
	    has_many_tiers(c->s, req))
		return 0;
	c->wishes++;
	return check_prefer(c, req, t->node, job) < 0
	           ? -1
	           : check_wish(c, req, t, job);
}

/* Whether the request prefers to be spread and says nothing else about its
 * nodes, so that amounts alone decide what fits. */
static bool is_only_spread(const struct check *c, uint32_t req)
{
	const struct snap *s = c->s;
	const struct snap_reqs *r = &s->req;

	return r->spread_like[req] != LEVEL_NONE && !r->exclusive[req] &&
	       !r->nodes[req] && !r->tasks_per_node[req] &&
	       !check_align_demands(s, req) &&
	       r->prefer_first[req] == r->prefer_first[req + 1] &&
	       !s->node.taint_first[s->node.n] && !c->weighed;
}

/* Check a start that prefers to be spread, after its tasks were subtracted: a
 * domain that has two tasks fewer than another must have no room for one more.
 */
static int check_spread_wish(struct check *c, uint32_t req,
                             const struct start *start, uint64_t job)
{
	const struct snap *s = c->s;
	const struct snap_task *t = c->plan->task + start->task_first;
	uint32_t *has, most = 0;

	if (!is_only_spread(c, req) || c->wishes == LOOK_AGAIN ||
	    !can_judge_wishes(c))
		return 0;
	c->wishes++;
	has = arena_array(c->arena, uint32_t, s->domain.n + s->node.n);
	for (uint32_t i = 0; i < start->ntasks; i++) {
		uint32_t at = check_spread_at(s, req, t[i].node);

		if (at == SNAP_NONE)
			return 0; /* not all tasks fit in domains */
		if (++has[at] > most)
			most = has[at];
	}
	for (uint32_t i = 0; i < s->node.n; i++) {
		uint32_t at = check_spread_at(s, req, i);

		if (s->node.pool[i] == s->node.pool[t->node] &&
		    at != SNAP_NONE && has[at] + 2 <= most &&
		    could_use(c, req, i))
			return check_bad(c->audit, job,
			                 "is not spread though %s has room",
			                 s->node.name[i]);
	}
	return 0;
}

static int take_start(struct check *c, const struct start *start)
{
	const struct snap *s = c->s;
	uint32_t row = start->row, req = s->pend.req[row];
	const struct snap_task *t = c->plan->task + start->task_first;
	uint64_t job = s->member[start->member].job;
	bool bound_only =
	    c->grew || s->pend.claim_first[row] < s->pend.claim_first[row + 1];

	c->grew |= start->ntasks > s->req.min_tasks[req];
	c->row_started[row]++;
	if (s->pend.resumes[row] != SNAP_NONE)
		return check_resume(c, s->pend.resumes[row], t, start->ntasks,
		                    job);
	if (start->ntasks < s->req.min_tasks[req] ||
	    start->ntasks > s->req.tasks[req])
		return check_bad(c->audit, job, "starts with %u tasks",
		                 (unsigned)start->ntasks);
	if (check_choice(c, req, start, job) < 0 ||
	    take_tasks(c, req, t, start->ntasks, job, bound_only) < 0 ||
	    check_align_job(c->audit, req, job, t, start->ntasks, SNAP_NONE) <
	        0 ||
	    check_nodes(c->audit, req, job, t, start->ntasks) < 0 ||
	    check_spread_wish(c, req, start, job) < 0)
		return -1;
	return check_alone(c, req, t, start->ntasks, job);
}

/* Stop counting the tasks of an exclusive run on its nodes (sign 1) or count
 * them again (-1), while its own new tasks are checked. */
static void own_nodes(struct check *c, uint32_t run, int64_t sign)
{
	const struct snap *s = c->s;

	for (uint32_t t = s->run.task_first[run];
	     s->req.exclusive[s->run.req[run]] &&
	     t < s->run.task_first[run + 1];
	     t++) {
		c->jobs_on[s->task[t].node] -= sign;
		c->closed[s->task[t].node] = sign < 0;
	}
}

static int take_grow(struct check *c, const struct grow *grow)
{
	const struct snap *s = c->s;
	uint32_t req = s->run.req[grow->run];
	const struct snap_task *t = c->plan->task + grow->task_first;
	uint64_t job = s->run.job[grow->run];
	int status;

	if (take_tasks(c, req, t, grow->ntasks, job, true) < 0 ||
	    check_align_job(c->audit, req, job, t, grow->ntasks, grow->run) <
	        0 ||
	    check_growth(c->audit, grow->run) < 0)
		return -1;
	own_nodes(c, grow->run, 1);
	status = check_alone(c, req, t, grow->ntasks, job);
	own_nodes(c, grow->run, -1);
	return status;
}

/* Returns how many tasks of the request certainly fit on the node; at most 1 if
 * the request has demands for NUMA nodes or links. */
static uint32_t room_on(const struct check *c, uint32_t req, uint32_t node)
{
	const struct snap *s = c->s;
	struct align_free nfree = { c->gpu, c->thread, c->numa_mem, c->taken };
	uint32_t n = 0, most = s->req.min_tasks[req];

	if (s->req.tasks_per_node[req] && s->req.tasks_per_node[req] < most)
		most = s->req.tasks_per_node[req];
	if (check_forbidden(s, req, node) || c->closed[node] ||
	    (s->req.exclusive[req] && c->jobs_on[node]))
		return 0;
	while (n < most && tasks_fit(c, req, node, n + 1))
		n++;
	if (n && check_align_demands(s, req))
		return check_align_best(s, req, node, &nfree).fits;
	return n;
}

/* Whether the whole job fits in a pool, inside one domain (SNAP_NONE:
 * anywhere). A job that asks for a number of nodes must fit on that many, those
 * with the most room. */
static bool job_fits(const struct check *c, uint32_t req, uint32_t pool,
                     uint32_t domain)
{
	const struct snap *s = c->s;
	uint32_t nodes = s->req.nodes[req], n = 0, total = 0;
	uint32_t *room = arena_array(c->arena, uint32_t, s->node.n + 1);

	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->node.pool[i] == pool &&
		    (domain == SNAP_NONE ||
		     check_domain(s, i, s->domain.level[domain]) == domain))
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

/* Whether the domains of a pool have room for all segments of the job. */
static bool segments_fit(const struct check *c, uint32_t req, uint32_t pool)
{
	const struct snap *s = c->s;
	uint32_t each = s->req.nodes[req] ? s->req.tasks_per_node[req] : 1;
	uint32_t left = s->req.tasks[req] / s->req.segment[req];

	for (uint32_t d = 0; left && d < s->domain.n; d++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < s->node.n; i++) {
			if (s->domain.level[d] == s->req.need[req] &&
			    s->node.pool[i] == pool &&
			    check_domain(s, i, s->domain.level[d]) == d)
				n += room_on(c, req, i) / each * each;
		}
		n /= s->req.segment[req];
		left -= n < left ? n : left;
	}
	return !left;
}

/* Whether each domain of a pool that could hold a part of the job has enough
 * room for its share. */
static bool spread_fits(const struct check *c, uint32_t req, uint32_t pool)
{
	const struct snap *s = c->s;
	uint32_t slots = s->domain.n + s->node.n, part, domains, parts;
	uint8_t *could = arena_array(c->arena, uint8_t, slots);
	uint32_t *room = arena_array(c->arena, uint32_t, slots);
	uint32_t with_more = 0;

	domains = check_spread(s, req, pool, could, &part);
	parts = s->req.tasks[req] / part;
	for (uint32_t i = 0; i < s->node.n; i++) {
		uint32_t at = check_spread_at(s, req, i);

		if (at != SNAP_NONE && s->node.pool[i] == pool)
			room[at] += room_on(c, req, i) / part;
	}
	for (uint32_t i = 0; i < slots; i++) {
		if (could[i] && room[i] < parts / domains)
			return false;
		with_more += could[i] && room[i] > parts / domains;
	}
	return domains && with_more >= parts % domains;
}

static bool job_fits_somewhere(const struct check *c, uint32_t req,
                               uint32_t pool)
{
	const struct snap *s = c->s;

	if (s->req.segment[req])
		return segments_fit(c, req, pool);
	if (s->req.spread[req] != LEVEL_NONE)
		return spread_fits(c, req, pool);
	if (s->req.need[req] == LEVEL_NONE)
		return job_fits(c, req, pool, SNAP_NONE);
	for (uint32_t d = 0; d < s->domain.n; d++) {
		if (s->domain.level[d] == s->req.need[req] &&
		    job_fits(c, req, pool, d))
			return true;
	}
	return false;
}

/* Whether room_on() considers all demands of the request: it does if the
 * constraint counts no nodes. */
static bool is_plain(const struct snap *s, uint32_t req)
{
	bool counts = false;

	for (uint32_t i = s->req.rule_first[req];
	     i < s->req.rule_first[req + 1]; i++)
		counts |= rule_count(s->rule[i]) > 0;
	return !counts;
}

static bool waits_for_room(const struct verdict *v)
{
	enum reason_kind kind = reason_kind(v->why);

	return kind == REASON_ROOM || kind == REASON_PLACE ||
	       kind == REASON_DOMAIN;
}

/* Check that jobs that wait for resources do not fit on the nodes without
 * claims. When such a job had its turn, at least as much was free there as now,
 * so the job would have started. */
static int check_waits(struct check *c)
{
	const struct snap *s = c->s;
	uint32_t looked_at = 0;

	for (uint32_t i = 0; i < c->plan->nclaims; i++) {
		const struct plan_claim *claim = &c->plan->claim[i];

		for (uint32_t k = 0; k < claim->n; k++)
			c->closed[c->plan->claim_node[claim->node_first + k]] =
			    1;
	}
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
				return check_bad(c->audit, job,
				                 "waits but fits in '%s'",
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
			return check_bad(c->audit, job,
			                 "its row counts other starts");
		if ((v->why == WHY_None) != (v->started == count))
			return check_bad(c->audit, job,
			                 "starts, or waits without reason");
		if (v->why != WHY_None &&
		    (!reason_is_pending(v->why) ||
		     (!v->position && v->why != WHY_Preempting)))
			return check_bad(c->audit, job,
			                 "waits for no reason there is");
		if (v->expected != SNAP_NEVER && v->expected < s->now)
			return check_bad(c->audit, job,
			                 "is expected in the past");
	}
	return check_waits(c);
}

static int check_placed(struct audit *a)
{
	struct check c = {
		.audit = a, .s = a->s, .plan = a->plan, .arena = a->arena
	};
	int status = 0;

	begin(&c);
	for (uint32_t i = 0; !status && i < a->plan->nstarts; i++)
		status = take_start(&c, &a->plan->start[i]);
	for (uint32_t i = 0; !status && i < a->plan->ngrows; i++)
		status = take_grow(&c, &a->plan->grow[i]);
	return status ? status : check_verdicts(&c);
}

static void audit_begin(struct audit *a)
{
	const struct snap *s = a->s;

	a->out = arena_array(a->arena, const struct eviction *, s->run.n);
	a->moved = arena_array(a->arena, const struct plan_claim *, s->run.n);
	a->lost = arena_array(a->arena, uint8_t,
	                      s->run.n ? s->run.task_first[s->run.n] : 0);
	a->more = arena_array(a->arena, uint32_t, s->run.n);
	a->served =
	    arena_array(a->arena, uint32_t,
	                s->pend.n ? s->pend.member_first[s->pend.n] : 0);
	a->scratch = arena_array(a->arena, uint32_t, s->node.n);
}

static int check_all(struct audit *a)
{
	if (check_lists(a) < 0 || check_placed(a) < 0)
		return -1;
	check_use(a);
	if (check_shares(a) < 0 || check_rules(a) < 0)
		return -1;
	return check_room(a) < 0 ? -1 : check_promises(a);
}

int plan_check(const struct snap *snap, const struct plan *plan,
               struct err *err)
{
	struct audit a = { .s = snap, .plan = plan, .err = err };
	int status;

	if (plan->gen != snap->gen || plan->nverdicts != snap->pend.n)
		return err_set(err, EINVAL, "plan: not of this snapshot");
	a.arena = arena_new();
	audit_begin(&a);
	status = check_all(&a);
	arena_free(a.arena);
	return status;
}
